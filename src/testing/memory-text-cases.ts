/** The memory contract: texts of every kind are found by their words. */

import { item, keys, type MemoryCase, put, search } from "./memory-case.ts";
import { expect } from "./vitest.ts";

export const memoryTextCases: readonly MemoryCase[] = [
  {
    name: "case, diacritics and forms of letters make no difference",
    async run(store) {
      await put(
        store,
        item("a", "Crème BRÛLÉE"),
        item("b", "ｆｕｌｌ ｗｉｄｔｈ"),
        item("c", "ΠΑΡΆΔΕΙΓΜΑ"),
        item("d", "Пример"),
        item("e", "Straße"),
      );
      for (const [text, key] of [
        ["creme brulee", "a"],
        ["cre\u0300me", "a"],
        ["full", "b"],
        ["παραδειγμα", "c"],
        ["ПРИМЕР", "d"],
        ["STRAßE", "e"],
      ])
        expect(await keys(store, text as string)).toEqual([key]);
    },
  },
  {
    name: "Chinese, Japanese and Korean are found by parts of a sentence",
    async run(store) {
      await put(
        store,
        item("chinese", "部署之前必须先运行数据库迁移"),
        item("japanese", "テストを実行する前にサーバーを起動する"),
        item("korean", "배포하기 전에 데이터베이스를 백업하세요"),
        item("single", "猫"),
      );
      expect(await keys(store, "数据库")).toEqual(["chinese"]);
      expect(await keys(store, "サーバーの起動")).toContain("japanese");
      expect(await keys(store, "ｻｰﾊﾞｰ")).toEqual(["japanese"]);
      expect(await keys(store, "데이터베이스")).toEqual(["korean"]);
      expect(await keys(store, "猫")).toEqual(["single"]);
      expect(await keys(store, "天气")).toEqual([]);
    },
  },
  {
    name: "identifiers are found whole, in parts and in other spellings",
    async run(store) {
      await put(
        store,
        item("a", "call `getUserName()` first"),
        item("b", "set MAX_RETRY_COUNT in app.config.json"),
        item("c", "use --no-cache-dir"),
      );
      for (const text of ["getUserName", "getusername", "get_user_name", "user name"]) expect(await keys(store, text)).toEqual(["a"]);
      for (const text of ["max_retry_count", "maxRetryCount", "retry", "app.config.json"]) expect(await keys(store, text)).toEqual(["b"]);
      for (const text of ["no-cache-dir", "cache"]) expect(await keys(store, text)).toEqual(["c"]);
    },
  },
  {
    name: "numbers with dots, signs and scripts with marks are words",
    async run(store) {
      await put(
        store,
        item("a", "pi is 3.14 and not 3.15"),
        item("b", "ship it 🚀"),
        item("c", "नमस्ते दुनिया"),
        item("d", "สวัสดีครับ"),
        item("e", "𞤀𞤣𞤤𞤢𞤥"),
      );
      expect((await keys(store, "3.14"))[0]).toBe("a");
      for (const [text, key] of [
        ["🚀", "b"],
        ["नमस्ते", "c"],
        ["สวัสดี", "d"],
        ["𞤀𞤣𞤤𞤢𞤥", "e"],
      ] as const)
        expect(await keys(store, text)).toEqual([key]);
      expect(await keys(store, "नम")).toEqual([]);
    },
  },
  {
    name: 'English endings make no difference, and words like "the" only count alone',
    async run(store) {
      await put(store, item("a", "run the tests before deploying policies"), item("b", "who are the others of the many and the few"));
      for (const text of ["testing", "deployed", "policy"]) expect(await keys(store, text)).toEqual(["a"]);
      expect(await keys(store, "the test of the")).toEqual(["a"]);
      expect((await keys(store, "the")).sort()).toEqual(["a", "b"]);
    },
  },
  {
    name: "a query in the syntax of a search engine is text",
    async run(store) {
      await put(store, item("a", 'say "hello" OR * NEAR( - : ^ {x} + key:b'), item("b", "world"));
      for (const text of [
        '"hello',
        "hello OR",
        "hello*",
        "NEAR(hello",
        "key:hello",
        "hello -",
        "hello AND",
        "^hello",
        "hello)",
        "{hello} : x",
        "hello; DROP TABLE items",
      ])
        expect(await keys(store, text)).toEqual(["a"]);
      for (const text of ['"', "*", "NEAR(", "wor*", "-hello:", 'content:"nothing"', "'", "\\", "%", "__"]) {
        const found = await keys(store, text);
        expect(found.length === 0 || found[0] === "a").toBe(true);
      }
      expect(await keys(store, "NOT hello")).toEqual(["a"]);
      expect(await keys(store, "hello AND world")).toHaveLength(2);
    },
  },
  {
    name: "text of a megabyte is kept whole and found by its last word",
    async run(store) {
      const content = `${"lorem ipsum dolor ".repeat(60_000).slice(0, 1_048_000)} zebra`;
      await put(store, item("large", content), item("small", "zebra"));
      expect(await keys(store, "zebra")).toEqual(["small", "large"]);
      const hits = await search(store, "lorem zebra");
      expect(hits.find(({ key }) => key === "large")?.content).toBe(content);
    },
  },
  {
    name: "a query of ten thousand words finds what it is about",
    async run(store) {
      await put(store, item("a", "the orchestrator restarts"), item("b", "nothing of it"));
      const noise = Array.from({ length: 10_000 }, (_, i) => `w${i}`);
      expect(await keys(store, [...noise.slice(0, 5000), "orchestrator", ...noise.slice(5000)].join(" "))).toEqual(["a"]);
    },
  },
  {
    name: "any string comes back as it was",
    async run(store) {
      const odd = ["\0", "a\0b", "\ud800", "\u2028", '"', "'; --", "🏴‍☠️", "e\u0301", "\r\n\t", ""];
      await put(
        store,
        ...odd.map((text, i) => item(`odd${i}`, text, { by: text, reason: text, value: { [text]: text }, because: [text] })),
      );
      const found = await search(store, "odd3");
      expect(found).toHaveLength(1);
      for await (const { content, by, reason, value, because, key } of store.list({})) {
        const text = odd[Number(key.slice(3))] as string;
        expect([content, by, reason, value, because]).toEqual([text, text, text, { [text]: text }, [text]]);
      }
    },
  },
];
