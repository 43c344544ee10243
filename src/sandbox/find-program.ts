import { accessSync, constants, statSync } from "node:fs";

const folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin", "/sbin"];

/** Where a program of the system is. Only its own folders are searched: whoever can set PATH must not choose what confines a command. */
export function findProgram(name: string): string | undefined {
  return folders.map((folder) => `${folder}/${name}`).find(runnable);
}

function runnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
