import { sandboxConformance } from "openrath/testing";
import { describe } from "vitest";
import { unshareSandbox } from "./guide-unshare-sandbox.ts";

const unavailable = await unshareSandbox()
  .ready?.()
  .then(() => undefined, String);
if (unavailable !== undefined) console.warn(`The unshare sandbox is not tried: ${unavailable}`);

describe.skipIf(unavailable !== undefined)("unshare", () => sandboxConformance({ name: "unshare", create: unshareSandbox }));
