// Bytes on disk against the bytes that were new: per round a result of 1 000 and a call of 141.
import { bytesOnDisk, inDirectory } from "../measure.mjs";
import { CALL_BYTES, RESULT_BYTES } from "../payload.mjs";
import { row } from "../report.mjs";
import { finish, openDurable, Repeated } from "./rounds.mjs";

const ROUNDS = 800;

export function measure() {
  return inDirectory(async (directory) => {
    const rath = await openDurable(directory);
    await finish(rath, new Repeated(ROUNDS));
    await rath.close();
    const bytes = bytesOnDisk(directory);
    return [row(`disk / new bytes, after ${ROUNDS} rounds`, bytes / (ROUNDS * (RESULT_BYTES + CALL_BYTES)), "ratio", "<= 2.5")];
  });
}
