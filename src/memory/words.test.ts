import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queryWords, wordsOf } from "./words.ts";

const wordsIn = (text: string) => wordsOf(text).join(" ");

describe("the words of a text", () => {
  test.each([
    ["Crème BRÛLÉE ﬁne", "crem brule fin"],
    ["ＡＢＣ ① Ⅷ", "abc 1 viii"],
    ["שָׁלוֹם مَرْحَبًا", "שלום مرحبا"],
    ["Ελλάδα Ёлка İstanbul", "ελλαδα елка istanbul"],
    ["नमस्ते", "नमस्ते"],
  ])("are folded: %s", (text, words) => {
    expect(wordsIn(text)).toBe(words);
  });

  test.each([
    ["黒猫が好き", "黒猫 猫が が好 好き"],
    ["猫", "猫"],
    ["ｻｰﾊﾞｰ", "サー ーバ バー"],
    ["데이터", "데이 이터"],
    ["한국 中", "한국 中"],
    ["iPhone用 v2版本", "i phon iphon 用 v2 版本"],
    ["𠮷野家", "𠮷野 野家"],
    ["สวัส", "สว วั ัส"],
  ])("are pairs of characters in scripts without spaces: %s", (text, words) => {
    expect(wordsIn(text)).toBe(words);
  });

  test.each([
    ["getUserName", "get user nam getusernam"],
    ["get_user-name", "get user nam getusernam"],
    ["HTTPServer", "http server httpserver"],
    ["app.config.json", "app config json appconfigjson"],
    ["MAX_RETRY", "max retri maxretri"],
    ["v1.2.3 3.14", "v1 2 3 v123 3 14 3.14"],
    ["__init__ --flag ...", "init flag"],
    ["sha256sum", "sha256sum"],
  ])("are the parts of an identifier and the whole: %s", (text, words) => {
    expect(wordsIn(text)).toBe(words);
  });

  test.each([
    ["test tests testing tested"],
    ["policy policies"],
    ["try tries tried"],
    ["movie movies"],
    ["cache caches caching cached"],
    ["box boxes boxing"],
    ["class classes"],
    ["run runs running"],
    ["configure configures configured configuring"],
    ["deploy deploys deployed deploying"],
    ["process processes processing processed"],
    ["database databases"],
  ])("are the same whatever their ending: %s", (text) => {
    expect(new Set(wordsOf(text)).size).toBe(1);
  });

  test.each(["string", "status", "analysis", "https", "css", "need", "king", "bus", "this", "red", "bring", "speed", "dns", "us", "is"])(
    "keep what is no ending: %s",
    (word) => {
      expect(wordsOf(word)).toEqual([word]);
    },
  );

  test("different words stay different", () => {
    const words = "new news net nest test text port post user users use host cost list lint line lines link".split(" ");
    const folded = new Map(words.map((word) => [word, wordsIn(word)]));
    expect(folded.get("user")).toBe(folded.get("users"));
    expect(folded.get("line")).toBe(folded.get("lines"));
    expect(new Set(folded.values()).size).toBe(words.length - 3 + Number(folded.get("new") !== folded.get("news")));
  });

  test("of a query leave out those that say nothing, unless there are no others", () => {
    expect(queryWords("What is the test command of the project?")).toEqual(["test", "command", "project"]);
    expect(queryWords("to be or not to be")).toEqual(["to", "be", "or", "not"]);
    expect(queryWords("test TEST tests")).toEqual(["test"]);
  });

  test("of a long query are the longest, in any order of the query", () => {
    const noise = Array.from({ length: 5000 }, (_, i) => `x${i}`);
    const words = queryWords([...noise, "orchestrator"].join(" "));
    expect(words).toHaveLength(64);
    expect(words).toContain("orchestrator");
  });

  test.each([
    ["letters", "a"],
    ["humps", "aA"],
    ["dots", "a."],
    ["separators", "._-"],
    ["Han", "漢"],
    ["a character that folds to eighteen", "\ufdfa"],
    ["marks", "\u0301"],
    ["halves of characters", "\ud800"],
    ["words", "running tests "],
    ["emoji", "👩‍🚀"],
  ])("take bounded time of two megabytes of %s", (_, unit) => {
    const text = unit.repeat(Math.ceil(2_000_000 / unit.length));
    // Its own time: what else the machine does is no fault of it.
    const start = process.cpuUsage();
    const words = wordsOf(text);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(4000);
    for (const word of words.slice(0, 1000)) expect(word.length).toBeLessThanOrEqual(64);
  });

  test("hold no character that could separate or quote them", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) expect(word).toMatch(/^[^\s"'\0-\x2d\x2f\x3a-\x60\x7b-\x7f]+$/u);
      }),
    );
  });

  test("are the same for equivalent texts, and whatever stands between them", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.string({ unit: "grapheme", maxLength: 60 }), (a, b) => {
        expect(wordsOf(a.normalize("NFD"))).toEqual(wordsOf(a.normalize("NFC")));
        expect(wordsOf(`${a} \n ${b}`)).toEqual([...wordsOf(a), ...wordsOf(b)]);
      }),
    );
  });

  test("of a query are words of a text that holds it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
        const words = new Set(wordsOf(text));
        for (const word of queryWords(text)) expect(words.has(word)).toBe(true);
      }),
    );
  });
});
