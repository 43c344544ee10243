import { describe, expect, it } from "vitest";
import { readContent } from "./content.ts";

function of(bytes: Uint8Array<ArrayBuffer> | string): Response {
  return new Response(bytes);
}

describe("contents of files", () => {
  it("text is text, broken or not, whatever it pretends to be", async () => {
    expect(await readContent(of("<svg onload=alert(1)>"))).toEqual({ type: "text", text: "<svg onload=alert(1)>", isCut: false });
    const broken = new Uint8Array([...new TextEncoder().encode("a long enough text with one broken byte: "), 0xff]);
    expect(await readContent(of(broken))).toMatchObject({ type: "text" });
    expect(await readContent(of(""))).toEqual({ type: "text", text: "", isCut: false });
  });

  it("bytes are not shown, and pictures are known by how they begin", async () => {
    expect(await readContent(of(new Uint8Array([1, 0, 2])))).toEqual({ type: "bytes" });
    expect(await readContent(of(new Uint8Array(100).fill(0xfe)))).toEqual({ type: "bytes" });
    expect(await readContent(of(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0])))).toMatchObject({
      type: "picture",
      media: "image/png",
    });
  });

  it("no more is read than can be shown", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent++;
        controller.enqueue(new Uint8Array(1 << 20).fill(97));
      },
    });
    const content = await readContent(new Response(endless));
    expect(content).toMatchObject({ type: "text", isCut: true });
    expect(sent).toBeLessThan(6);
  });
});
