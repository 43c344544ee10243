/** Raw sockets against a server: who drips, floods, lies or stays. Each is told what is wrong and let go; the server goes on. */
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openrath } from "../../src/index.ts";
import { listen } from "../../src/server/listen.ts";
import { createServer, type ServerOptions } from "../../src/server/server.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function served(limits: ServerOptions["limits"] = {}, times = { headersMs: 300, requestMs: 600, lookMs: 50 }) {
  const rath = openrath({ store: "memory" });
  const server = createServer(rath, { auth: "none-on-loopback", limits });
  const listening = await listen(server, { times });
  open.push(async () => {
    await listening.close(0);
    await rath.close();
  });
  return { url: listening.url, port: Number(new URL(listening.url).port) };
}

class Raw {
  readonly socket: Socket;
  readonly closed: Promise<string>;
  heard = "";
  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket
      .on("error", () => {})
      .on("data", (piece) => {
        this.heard += piece.toString("latin1");
      });
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve(this.heard)));
  }
  /** Says this and gives what was answered until the other side closed. */
  say(text: string): Promise<string> {
    this.socket.write(text);
    return this.closed;
  }
  /** Says it byte by byte, so often or for ever, until the other side has had enough. */
  drip(first: string, rest: string, times = Number.POSITIVE_INFINITY): Promise<string> {
    this.socket.write(first);
    let said = 0;
    const timer = setInterval(() => said++ < times && this.socket.writable && this.socket.write(rest), 20);
    return this.closed.finally(() => clearInterval(timer));
  }
}

const statuses = (answers: string): readonly string[] => [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status as string);
const post = (headers: string, body = ""): string =>
  `POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n${headers}\r\n${body}`;
const alive = async (url: string): Promise<void> => expect((await fetch(`${url}/v1/health`)).status).toBe(200);

describe("somebody who", () => {
  test("drips headers or a body is let go in time", async () => {
    const { url, port } = await served({ timeout: 200 });
    const began = performance.now();
    const head = "GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx-slow: ";
    const begun = post("content-length: 1000\r\n");
    // Who still speaks when the other side closes may get a reset instead of the answer: those who are to read it fall silent.
    const eight = (first: string) => Promise.all(Array.from({ length: 8 }, () => new Raw(port).drip(first, "a", 4)));
    const [headers, body, nothing] = await Promise.all([
      eight(head),
      eight(begun),
      new Raw(port).closed,
      new Raw(port).drip(head, "a"),
      new Raw(port).drip(begun, " "),
    ]);
    expect(performance.now() - began).toBeLessThan(5000);
    for (const answers of [headers, body]) expect(new Set(answers.flatMap(statuses))).toEqual(new Set(["408"]));
    expect(body.join("")).toContain('"code":"request.timeout"');
    expect(statuses(nothing)).toEqual(nothing === "" ? [] : ["408"]);
    await alive(url);
  });

  test("sends too much is told so, whether its length was said or not", async () => {
    const { url, port } = await served({ body: 1000 });
    expect(
      statuses(await new Raw(port).say(`GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx-large: ${"a".repeat(20_000)}\r\n\r\n`)),
    ).toEqual(["431"]);
    expect(statuses(await new Raw(port).say(`GET /${"a".repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`))).toEqual(["431"]);
    expect(await new Raw(port).say(post("content-length: 100000000\r\n", "{"))).toContain('"code":"request.too-large"');
    const chunk = "a".repeat(600);
    expect(await new Raw(port).say(post("transfer-encoding: chunked\r\n", `258\r\n${chunk}\r\n258\r\n${chunk}\r\n258\r\n`))).toContain(
      '"code":"request.too-large"',
    );
    await alive(url);
  });

  test("breaks off, or says another length than it sends, changes nothing", async () => {
    const { url, port } = await served();
    const short = new Raw(port);
    short.socket.end(post("content-length: 100\r\n", '{"message":"x"}'));
    expect(statuses(await short.closed)).not.toContain("201");
    // What is behind the length that was said is no second call.
    const long = await new Raw(port).say(post("content-length: 15\r\n", '{"message":"x"}GET /v1/info HTTP/1.1\r\nhost: localhost\r\n\r\n'));
    expect(statuses(long)).toHaveLength(1);
    expect(long).not.toContain("openrath");
    const wrong = await new Raw(port).say(post("content-length: 5\r\n", '{"message":"x"}'));
    expect(statuses(wrong)).toEqual(["400"]);
    const { items } = (await (await fetch(`${url}/v1/sessions`)).json()) as { readonly items: readonly unknown[] };
    expect(items.length).toBeLessThanOrEqual(1);
  });

  test.each([
    ["both lengths", "content-length: 15\r\ntransfer-encoding: chunked\r\n", '0\r\n\r\n{"message":"x"}'],
    ["two lengths", "content-length: 15\r\ncontent-length: 0\r\n", '{"message":"x"}'],
    ["a length with a sign", "content-length: +15\r\n", '{"message":"x"}'],
    ["another last encoding", "transfer-encoding: chunked, identity\r\n", "0\r\n\r\n"],
    ["an encoding with a tab", "transfer-encoding:\tchunked\r\ncontent-length: 15\r\n", '{"message":"x"}'],
    ["a space before the colon", "content-length : 15\r\n", '{"message":"x"}'],
    ["a bare line feed", "x: y\ncontent-length: 15\r\n", '{"message":"x"}'],
    ["a folded header", "content-length: 1\r\n 5\r\n", '{"message":"x"}'],
    ["a chunk that is no number", "transfer-encoding: chunked\r\n", "zz\r\n\r\n"],
  ])("would smuggle a call with %s is refused, and the connection is closed", async (_, headers, body) => {
    const { url, port } = await served();
    const heard = await new Raw(port).say(post(headers, body));
    expect(statuses(heard)).toEqual(["400"]);
    expect((await (await fetch(`${url}/v1/sessions`)).json()) as object).toMatchObject({ items: [] });
  });

  test("speaks HTTP/1.0, or no HTTP at all, is answered and let go", async () => {
    const { url, port } = await served();
    expect(await new Raw(port).say("GET /v1/health HTTP/1.0\r\nhost: localhost\r\n\r\n")).toMatch(/^HTTP\/1\.1 200.*"status":"ok"/s);
    expect(statuses(await new Raw(port).say("GET /v1/health HTTP/1.1\r\n\r\n"))).toEqual(["400"]);
    expect(statuses(await new Raw(port).say("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03hello"))).toEqual(["400"]);
    await alive(url);
  });

  test("was answered before the server stops may use the connection as long as was said, and is told that it is the last time", async () => {
    const rath = openrath({ store: "memory" });
    const listening = await listen(createServer(rath, { auth: "none-on-loopback" }));
    const call = "GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    const [used, unused] = [new Raw(Number(new URL(listening.url).port)), new Raw(Number(new URL(listening.url).port))];
    for (const { socket } of [used, unused]) socket.write(call);
    await vi.waitFor(() => expect([used, unused].map(({ heard }) => /"ok"/.test(heard))).toEqual([true, true]));
    const seconds = Number(/keep-alive: timeout=(\d+)/i.exec(used.heard)?.[1]);
    expect(seconds).toBeGreaterThan(2);
    const began = performance.now();
    const closed = listening.close(60_000);
    // Clients give a connection up a second before its time.
    await new Promise((resolve) => setTimeout(resolve, (seconds - 1) * 1000));
    const heard = await used.say(call);
    expect(statuses(heard)).toEqual(["200", "200"]);
    expect(heard.match(/connection: [a-z-]+/gi)).toEqual(["Connection: keep-alive", "connection: close"]);
    await closed;
    expect(performance.now() - began).toBeLessThan((seconds + 3) * 1000);
    await rath.close();
  });

  test("holds a thousand connections and says nothing does not keep others out, and loses them", async () => {
    const { url, port } = await served();
    const idle = Array.from({ length: 1000 }, () => new Raw(port));
    await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
    const before = process.memoryUsage().rss;
    await alive(url);
    await Promise.all(idle.map(({ closed }) => closed));
    expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
    await alive(url);
  });
});
