// What the programs declare and leave to their users: functions, models, and two services in the network, which answer here.
import { createOpenAI } from "@ai-sdk/openai";

const network = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const { hostname } = new URL(input instanceof Request ? input.url : input);
  if (hostname === "weather.test") return Response.json({ degrees: 21 });
  if (hostname === "pay.test") return new Response(null, { status: 201 });
  return network(input, init);
};
globalThis.send = async (text) => ({ id: `mail of ${text.length} characters` });
globalThis.v3 = createOpenAI({ apiKey: "test" })("gpt-5.5");
globalThis.v2 = { specificationVersion: "v2", provider: "acme", modelId: "two", doStream: async () => ({ stream: new ReadableStream() }) };
