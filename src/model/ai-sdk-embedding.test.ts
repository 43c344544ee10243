/** Against a server that speaks OpenAI's embeddings, over HTTP. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAI } from "@ai-sdk/openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureFrom } from "../../test/support/model-call.ts";
import type { EmbeddingModel } from "../session/embedding.ts";
import { aiSdkEmbedder, resolveEmbedder } from "./ai-sdk-embedding.ts";

interface Asked {
  readonly model: string;
  readonly input: readonly string[];
}
type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void;

let server: Server;
let url = "";
let asked: Asked[] = [];
/** The n-th request is answered by the n-th, the rest by the last. */
let answers: Answer[] = [];

const json = (response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
/** The vector of a text is its length and its place among all that were sent in this call. */
const embeds: Answer = ({ input, model }, response) =>
  json(response, 200, {
    object: "list",
    model,
    data: input.map((text, index) => ({ object: "embedding", index, embedding: [text.length, index] })),
    usage: { prompt_tokens: input.length * 3, total_tokens: input.length * 3 },
  });
const fails =
  (status: number, type: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) =>
    json(response, status, { error: { message: `said ${type}`, type, param: null, code: null } }, headers);

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
      asked.push(body);
      (answers[Math.min(asked.length, answers.length) - 1] as Answer)(body, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = [];
  answers = [embeds];
});

const small = () => createOpenAI({ apiKey: "k", baseURL: url }).embeddingModel("text-embedding-3-small");
const signal = new AbortController().signal;
/** What a provider of V2 gives, without a server. */
const fake = (fields: Partial<EmbeddingModel> = {}): EmbeddingModel => ({
  specificationVersion: "v2",
  provider: "fake.embedding",
  modelId: "one",
  doEmbed: async ({ values }: { values: string[] }) => ({ embeddings: values.map(() => [1, 2]) }),
  ...fields,
});

describe("an embedder over an AI SDK model", () => {
  test("gives vectors in the order of the texts, and what the provider counted", async () => {
    const embedder = aiSdkEmbedder(small());
    expect(embedder.id).toBe("openai/text-embedding-3-small");
    const { vectors, tokens } = await embedder.embed(["a", "four", ""], { signal });
    expect(vectors).toEqual([Float32Array.of(1, 0), Float32Array.of(4, 1), Float32Array.of(0, 2)]);
    expect(tokens).toBe(9);
    expect(asked).toMatchObject([{ model: "text-embedding-3-small", input: ["a", "four", ""] }]);
  });

  test("asks nothing for no texts", async () => {
    expect(await aiSdkEmbedder(small()).embed([], { signal })).toEqual({ vectors: [], tokens: 0 });
    expect(asked).toEqual([]);
  });

  // Mutant: one call for all texts; the provider refuses it (OpenAI's model takes 2048).
  test("sends no more texts in a call than the model takes, and keeps their order", async () => {
    const texts = Array.from({ length: 4100 }, (_, index) => "x".repeat(index % 7));
    const { vectors, tokens } = await aiSdkEmbedder(small()).embed(texts, { signal });
    expect(asked.map(({ input }) => input.length)).toEqual([2048, 2048, 4]);
    expect(vectors.map((vector) => vector[0])).toEqual(texts.map(({ length }) => length));
    expect(tokens).toBe(4100 * 3);
    const promised = fake({ maxEmbeddingsPerCall: Promise.resolve(2) });
    expect((await aiSdkEmbedder(promised).embed(["a", "b", "c"], { signal })).vectors).toHaveLength(3);
  });

  test("takes models of V2, which may count nothing, and refuses versions it does not know", async () => {
    expect(await aiSdkEmbedder(fake()).embed(["a"], { signal })).toEqual({ vectors: [Float32Array.of(1, 2)], tokens: undefined });
    expect(() => aiSdkEmbedder(fake({ specificationVersion: "v9" as never }))).toThrow(/fake\/one declares the specification "v9"/);
  });

  // Mutant: a failure that is for the moment is thrown at once.
  test("tries again what failed for the moment, as soon as the provider says", async () => {
    const soon = { "retry-after-ms": "1" };
    answers = [fails(429, "rate_limit_exceeded", soon), fails(503, "overloaded", soon), embeds];
    expect((await aiSdkEmbedder(small()).embed(["a"], { signal })).vectors).toHaveLength(1);
    expect(asked).toHaveLength(3);
  });

  // Mutant: tried until it works, which may be never.
  test("gives up after three attempts, and at once where waiting would be too long or of no use", async () => {
    const embedder = aiSdkEmbedder(small());
    answers = [fails(500, "server_error", { "retry-after-ms": "1" })];
    expect(await failureFrom(embedder.embed(["a"], { signal }))).toMatchObject({
      code: "model.failed",
      retryable: true,
      details: { status: 500 },
      message: "openai/text-embedding-3-small: said server_error (HTTP 500)",
    });
    expect(asked).toHaveLength(3);
    asked = [];
    answers = [fails(429, "rate_limit_exceeded", { "retry-after": "3600" })];
    expect(await failureFrom(embedder.embed(["a"], { signal }))).toMatchObject({ retryable: true, details: { retryAfterMs: 3_600_000 } });
    expect(asked).toHaveLength(1);
    answers = [fails(401, "invalid_api_key")];
    expect(await failureFrom(embedder.embed(["a"], { signal }))).toMatchObject({ retryable: false, details: { status: 401 } });
    expect(asked).toHaveLength(2);
  });

  // Mutant: the vectors are taken as they come; texts then get the vectors of others.
  test("does not take an answer with too few vectors, of several lengths, or of no numbers", async () => {
    const answered = (embeddings: unknown) => aiSdkEmbedder(fake({ doEmbed: async () => ({ embeddings }) }));
    const problem = async (embeddings: unknown, texts: readonly string[]) =>
      (await failureFrom(answered(embeddings).embed(texts, { signal }))).message;
    expect(await problem([[1]], ["a", "b"])).toBe("fake/one: 2 texts sent, and 1 vector came back.");
    expect(await problem(undefined, ["a"])).toBe("fake/one: 1 text sent, and 0 vectors came back.");
    expect(await problem([[1], [1, 2]], ["a", "b"])).toBe("fake/one: the vectors of one request have different lengths.");
    expect(await problem([["x"]], ["a"])).toBe("fake/one: a vector came back that is no list of numbers.");
    expect(await problem(["x"], ["a"])).toBe("fake/one: a vector came back that is no list of numbers.");
  });

  // Mutant: the signal is not passed on; the call outlives the work it was for.
  test("stops when it is told to: during a call, between attempts and before", async () => {
    const embedder = aiSdkEmbedder(small());
    const calling = new AbortController();
    let left: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    answers = [
      (_, response) => {
        response.on("close", left);
        calling.abort(new Error("enough"));
      },
    ];
    await expect(embedder.embed(["a"], { signal: calling.signal })).rejects.toThrow("enough");
    await gone; // the server was hung up on
    const waiting = new AbortController();
    answers = [
      (body, response, request) => {
        fails(429, "rate_limit_exceeded", { "retry-after": "30" })(body, response, request);
        setTimeout(() => waiting.abort(new Error("no more")), 20);
      },
    ];
    await expect(embedder.embed(["a"], { signal: waiting.signal })).rejects.toThrow("no more");
    asked = [];
    await expect(embedder.embed(["a"], { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    expect(asked).toEqual([]);
  });
});

describe("resolveEmbedder", () => {
  test("takes an Embedder as it is and makes one of a model", async () => {
    const own = { id: "own", embed: async () => ({ vectors: [] }) };
    expect(await resolveEmbedder(own)).toBe(own);
    expect((await resolveEmbedder(small())).id).toBe("openai/text-embedding-3-small");
  });

  test("finds providers by their names, with keys and addresses from the environment", async () => {
    const embedder = await resolveEmbedder("openai/text-embedding-3-large", { env: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: url } });
    expect(embedder.id).toBe("openai/text-embedding-3-large");
    expect((await embedder.embed(["abc"], { signal })).vectors).toEqual([Float32Array.of(3, 0)]);
    const local = await resolveEmbedder("ollama/nomic-embed-text", { env: { OLLAMA_BASE_URL: url } });
    expect(local.id).toBe("ollama/nomic-embed-text");
    await local.embed(["abc"], { signal });
    expect(asked.map(({ model }) => model)).toEqual(["text-embedding-3-large", "nomic-embed-text"]);
    expect((await resolveEmbedder("google/gemini-embedding-001", { env: { GEMINI_API_KEY: "k" } })).id).toBe("google/gemini-embedding-001");
  });

  test("asks an older package for its models under the name they had there", async () => {
    const createOpenAI = () => ({ textEmbeddingModel: (modelId: string) => fake({ modelId }) });
    const embedder = await resolveEmbedder("openai/old", { env: { OPENAI_API_KEY: "k" }, load: async () => ({ createOpenAI }) });
    expect((await embedder.embed(["a"], { signal })).vectors).toHaveLength(1);
  });

  test("names what is missing: a key, a provider that is known, embedding models of a provider, and a model at all", async () => {
    const failure = (name: string, env: Readonly<Record<string, string>> = {}) => failureFrom(resolveEmbedder(name as never, { env }));
    expect(await failure("openai/text-embedding-3-small")).toMatchObject({
      code: "model.unavailable",
      message: 'The model "openai/text-embedding-3-small" needs the environment variable OPENAI_API_KEY. Set it and start again.',
    });
    expect(await failure("nobody/x")).toMatchObject({ code: "model.unknown" });
    const anthropic = await failure("anthropic/x", { ANTHROPIC_API_KEY: "k" });
    expect(anthropic).toMatchObject({ code: "model.unknown" });
    expect(anthropic.message).toMatch(/^"anthropic" has no embedding model "x" \(.+\)\. Name one of a provider that has/);
    expect((await failureFrom(resolveEmbedder({} as never))).message).toMatch(/got object/);
  });
});
