import { describe, expect, test } from "vitest";
import { composeRath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import { redactor } from "./redact.ts";

const keys = {
  openai: `sk-proj-${"a1B2".repeat(8)}`,
  anthropic: `sk-ant-api03-${"x9_-".repeat(8)}`,
  github: `ghp_${"A1b2".repeat(9)}`,
  githubFine: `github_pat_${"A1b2_".repeat(6)}`,
  gitlab: `glpat-${"a1-_".repeat(5)}`,
  aws: `AKIA${"ABCD1234".repeat(2)}`,
  google: `AIza${"a1B2c".repeat(7)}`,
  slack: `xoxb-${"12345-".repeat(3)}abc`,
  stripe: `sk_live_${"a1B2".repeat(6)}`,
  npm: `npm_${"a1B2".repeat(9)}`,
  huggingFace: `hf_${"aB".repeat(18)}`,
  jwt: `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`,
  pem: "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
};

describe("well-known key shapes", () => {
  test.each(Object.entries(keys))("%s is found alone and inside text", (_, key) => {
    const redact = redactor();
    expect(redact(key)).toEqual({ text: "[redacted]", count: 1 });
    expect(redact(`before ${key} after, and "${key}"`)).toEqual({ text: 'before [redacted] after, and "[redacted]"', count: 2 });
  });

  test.each([
    "a task-list-of-things-to-do-today-and-tomorrow",
    "npm_run",
    "the sk-8 bus",
    "disk-usage-of-the-whole-machine-in-bytes",
    "AKIA",
    "eyJhbGciOi",
  ])("%s is left alone", (text) => {
    expect(redactor()(text)).toBeUndefined();
    expect(redactor()(text)).toBeUndefined();
  });
});

describe("declared secrets", () => {
  test("are found plain, in a URL and in base64; the longer one first", () => {
    const redact = redactor(["hunter2!", "hunter2!longer"]);
    expect(redact("hunter2!longer hunter2!")).toEqual({ text: "[redacted] [redacted]", count: 2 });
    expect(redactor(["p@ss w/rd"])(`?q=${encodeURIComponent("p@ss w/rd")}`)?.text).toBe("?q=[redacted]");
    expect(redact(`Basic ${Buffer.from("hunter2!").toString("base64")}`)?.count).toBe(1);
  });

  test("are refused among bytes, where replacing them could break what the bytes are", async () => {
    await using rath = composeRath({ store: memoryStore(), secrets: ["correct horse battery"] }, {});
    const bytes = (text: string) => rath.session().do("read", () => Buffer.from(`key=${text};`));
    await expect(bytes("correct horse battery")).rejects.toThrow(/holds a secret among its bytes/);
    expect(Buffer.from((await bytes("nothing")).output).toString()).toBe("key=nothing;");
  });

  test("that are too short to be told from ordinary text are refused", () => {
    expect(() => redactor(["1234"])).toThrow(/fewer than 6/);
  });

  test("never reach the store: not in values, keys, inputs, messages, errors or names; the program sees the marker too", async () => {
    const secret = "correct horse battery";
    const store = memoryStore();
    const bytes: Uint8Array[] = [];
    const spied = new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (name === "append")
          return (write: Parameters<typeof store.append>[0]) => {
            bytes.push(Buffer.from(JSON.stringify(write.branches.map((branch) => branch.about))));
            for (const branch of write.branches)
              for (const event of branch.events) bytes.push(event.envelope, event.data ?? new Uint8Array());
            for (const blob of write.blobs ?? []) bytes.push(blob.bytes);
            return target.append(write);
          };
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    await using rath = composeRath({ store: spied, secrets: [secret] }, {});
    const session = await rath
      .session(`use ${secret}`, { title: `about ${secret}`, tags: [secret] })
      .note(secret)
      .do(`call ${secret}`, () => ({ token: secret, [secret]: 1, long: `${"x".repeat(5000)}${secret}` }), {
        input: { header: `Bearer ${secret}` },
      });
    expect(session.output).toMatchObject({ token: "[redacted]", "[redacted]": 1 });
    await session.do("fail", () => Promise.reject(new Error(`no access with ${secret}`))).catch(() => {});
    await rath.save(session);
    expect(session.messages[0]?.text).toBe("use [redacted]");
    const redacted = [...session.events()].map((event) => event.facts.redacted ?? 0);
    expect(redacted.reduce((a, b) => a + b)).toBeGreaterThan(6);
    expect(bytes.some((part) => Buffer.from(part).includes(secret))).toBe(false);
  });
});

describe("text made to be looked at again and again", () => {
  test.each(["eyJ-", "eyJaaaaaaaaaaaa-", "eyJaaaaaaaaaaaa.", "sk-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "AKIA", "xoxb-"])(
    "takes no longer: %j",
    (piece) => {
      const begin = performance.now();
      redactor(["correct horse"])(piece.repeat(400_000 / piece.length));
      expect(performance.now() - begin).toBeLessThan(1000);
    },
  );

  test("and a token is still found beside what looks like one", () => {
    const token = `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`;
    expect(redactor()(`eyJ-eyJ-token-${token} eyJ-`)?.text).toBe("eyJ-eyJ-token-[redacted] eyJ-");
  });
});

describe("text that comes in pieces", () => {
  const secret = "correct horse cor";
  const redact = redactor([secret]);
  /** As a stream shows it: what may become a secret is held back. */
  const shown = (text: string, size: number): { readonly text: string; readonly mostHeld: number } => {
    let [held, out, mostHeld] = ["", "", 0];
    const clean = (part: string): string => redact(part)?.text ?? part;
    for (let at = 0; at < text.length; at += size) {
      const next = held + text.slice(at, at + size);
      const safe = redact.unfinished?.(next) ?? next.length;
      out += clean(next.slice(0, safe));
      held = next.slice(safe);
      mostHeld = Math.max(mostHeld, held.length);
    }
    return { text: out + clean(held), mostHeld };
  };

  test.each([
    `The ${secret} is here, correct hors too.`,
    `Key: sk-ant-${"a".repeat(40)}, and ghp_${"b".repeat(36)}.`,
    `A token eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)} and more`,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA PRIVATE KEY-----\nafter",
    `url ${encodeURIComponent(secret)} json ${JSON.stringify({ secret })}`,
  ])("shows the same as text that comes at once: %s", (text) => {
    const whole = redact(text)?.text;
    for (const size of [1, 2, 3, 7, 1000]) expect(shown(text, size).text).toBe(whole);
  });

  test("is not held back when it is ordinary", () => {
    const text = "Ordinary text about skills, r values, e-mail and snake_case_names; 日本語のテキストも。 ".repeat(50);
    const { text: out, mostHeld } = shown(text, 3);
    expect(out).toBe(text);
    expect(mostHeld).toBeLessThan(6);
  });
});
