import { describe, expect, it } from "vitest";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";
import { type Graph, graph } from "./audit.ts";

const hostile = 'a"b\\c]\n<script>alert(1)</script> %% --> | `x` &amp; #35; \u202e;end';

class Choose extends Workflow {
  async forward(session: Session): Promise<Session> {
    const [a, b] = await Promise.all([session.fork(hostile).do("try", () => 1), session.fork("b").do("try", () => 2)]);
    a.reject("slower\n--> x");
    return b;
  }
}

async function chosen(): Promise<{ readonly session: Session; readonly shown: Graph }> {
  const rath = openrath({ store: "memory", implicitForks: "allow" });
  const session = await new Choose().forward(await rath.session("Choose").do("prepare", () => 0));
  return { session, shown: await graph(session) };
}

describe("graph", () => {
  it("shows which branch won and which was rejected, and why", async () => {
    const { session, shown } = await chosen();
    expect(shown.nodes.find((node) => node.current)).toMatchObject({ id: session.id, kind: "root", label: "Choose", won: false });
    expect(shown.nodes.find((node) => node.won)).toMatchObject({ label: "b", kind: "fork", status: "idle" });
    expect(shown.nodes.find((node) => node.status === "rejected")).toMatchObject({ label: hostile, reason: "slower\n--> x", won: false });
    expect(shown.edges.map((edge) => edge.kind).sort()).toEqual(["adopted", "forked", "forked"]);
  });

  it("is acyclic in its events: every edge leads to a later step, between branches it has", async () => {
    const { shown } = await chosen();
    const ids = shown.nodes.map((node) => node.id);
    for (const { from, to, left, step } of shown.edges) {
      expect(ids).toContain(from);
      expect(ids).toContain(to);
      expect(left).toBeLessThan(step);
    }
  });

  it("shows merged, detached, implicit and rejected branches made outside any workflow, and unsaved ones", async () => {
    await using rath = openrath({ store: "memory", implicitForks: "allow" });
    const base = await rath.session("base").do("x", () => 1);
    const a = await base.fork("a").do("y", () => 2);
    const b = await base.fork("b").do("z", () => 3);
    await rath.save(base.fork("c").reject("no need"));
    const again = await base.do("first", () => 4);
    const implicit = await base.do("second", () => 5);
    const merged = await a.merge([b, implicit]);
    const shown = await graph(merged.detach().say("on"));
    const labels = shown.nodes.map((node) => node.label);
    expect(labels).toEqual(expect.arrayContaining(["a", "b", "c", "implicit fork", "base"]));
    expect(shown.edges.filter((edge) => edge.kind === "merged").map((edge) => edge.from)).toEqual(
      expect.arrayContaining([b.id, implicit.id]),
    );
    expect(shown.edges.find((edge) => edge.kind === "detached")).toMatchObject({ from: a.id });
    expect(shown.nodes.find((node) => node.current)).toMatchObject({ kind: "detach" });
    expect(shown.nodes.find((node) => node.label === "c")).toMatchObject({ status: "rejected", reason: "no need" });
    // A place in the past does not show forks made after it.
    const past = await graph(again.at(base.step - 1));
    expect(past.nodes).toHaveLength(1);
  });

  it("gives Mermaid text in which no label can become anything else", async () => {
    const { shown } = await chosen();
    const lines = shown.toMermaid().trimEnd().split("\n");
    expect(lines[0]).toBe("flowchart LR");
    for (const line of lines.slice(1))
      expect(line).toMatch(
        /^ {2}(b\d+\["[^"`<>[\]{}|%]*<br\/>[^"`<>[\]{}|%]*"\]|b\d+ (-->|==>|-\.->)\|"[a-z]+ at \d+"\| b\d+|classDef .*|class b\d+ [a-z]+)$/,
      );
  });

  it("gives DOT text whose strings are closed", async () => {
    const { shown } = await chosen();
    const text = shown.toDot();
    const rest = text.replace(/"(?:[^"\\\n]|\\.)*"/g, "S");
    expect(rest).not.toContain('"');
    for (const line of rest.trimEnd().split("\n").slice(2, -1))
      expect(line).toMatch(/^ {2}(node|edge|b\d+|b\d+ -> b\d+) \[[a-z]+=\w+(, [a-z]+=\w+)*\];$|^ {2}rankdir=LR;$/);
  });

  it("gives the same well-formed SVG every time, with labels as text", async () => {
    const { session, shown } = await chosen();
    const svg = shown.toSvg();
    expect((await graph(session)).toSvg()).toBe(svg);
    expect(svg).not.toContain("<script");
    const open: string[] = [];
    for (const [, close, name = "", self] of svg.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
      if (close === "/") expect(open.pop()).toBe(name);
      else if (self !== "/") open.push(name);
    }
    expect(open).toEqual([]);
    expect(svg.replace(/<[^<>]*>/g, "")).not.toMatch(/[<>]|&(?!#\d+;)/);
  });
});
