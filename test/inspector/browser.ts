/** Debian's Chromium, driven over its own protocol. Nothing is downloaded, and nothing leaves this machine. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const chromiumPath = process.env["CHROMIUM"] ?? paths.find((path) => existsSync(path));
/** Why browser tests are skipped. */
export const noChromium =
  chromiumPath === undefined ? "there is no Chromium here: npm run setup installs it, or name one in CHROMIUM" : undefined;

const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...[
    "--renderer-process-limit=1",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
  ],
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? "", args: flags });
}

export type Theme = "light" | "dark";

/** How somebody looks at a page. */
export interface Sight {
  readonly theme?: Theme;
  readonly width?: number;
  readonly height?: number;
}

export interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors on the console, pages that failed, and requests that went elsewhere: nothing of it may happen. */
  readonly problems: string[];
}

/** A page that is watched. */
export async function open(browser: Browser, { theme = "light", width = 1280, height = 800 }: Sight = {}): Promise<Opened> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width, height }, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => problems.push(`page: ${error.message}`));
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1" && hostname !== "localhost") problems.push(`request: ${request.url()}`);
  });
  return { page, context, problems, [Symbol.asyncDispose]: () => context.close() };
}
