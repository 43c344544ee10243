/** Opens a page in the browser of whoever sits here; nothing happens where there is none. */
import { spawn } from "node:child_process";

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

export function openBrowser(url: string): void {
  const [command, ...args] = openers[process.platform] ?? [];
  if (command === undefined) return;
  const opener = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  opener.on("error", () => {}); // the link was printed too
  opener.unref();
}
