/** A value that a schema takes, made of what is known: for tests that walk routes nobody wrote them for. */
import type { z } from "@hono/zod-openapi";

/** What is known by name: the value of a field called so. */
export type Known = Readonly<Record<string, string>>;

/** Texts and numbers that fit most fields nobody knows by name. */
const usual: readonly unknown[] = ["x", "1", "0", 1, 0, "human:x", "2999-01-01T00:00:00Z", "a.txt", "a".repeat(64), true, "true", "1h", {}];

/** Undefined when nothing known fits. */
export function sampled(schema: z.ZodType, known: Known, name = ""): unknown {
  const { def } = schema as unknown as { readonly def: Definition };
  switch (def.type) {
    case "object": {
      const fields = Object.entries(def.shape ?? {}).map(([field, inner]) => [field, sampled(inner, known, field)] as const);
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
    }
    case "optional":
    case "default":
    case "prefault":
      // What may be left out is, unless it names something.
      return Object.hasOwn(known, name) ? sampled(def.innerType as z.ZodType, known, name) : undefined;
    case "array": {
      const item = sampled(def.element as z.ZodType, known, name.replace(/s$/, ""));
      return schema.safeParse([]).success && !Object.hasOwn(known, name.replace(/s$/, "")) ? [] : [item];
    }
    case "union":
      return firstOf(
        (def.options ?? []).map((option) => sampled(option, known, name)),
        schema,
      );
    case "pipe":
      return sampled(def.in as z.ZodType, known, name);
    case "nullable":
    case "readonly":
    case "lazy":
      return sampled((def.innerType ?? def.getter?.()) as z.ZodType, known, name);
    case "literal":
      return def.values?.[0];
    case "enum":
      return Object.values(def.entries ?? {})[0];
    default:
      return firstOf([...(Object.hasOwn(known, name) ? [known[name]] : []), ...usual], schema);
  }
}

function firstOf(values: readonly unknown[], schema: z.ZodType): unknown {
  return values.find((value) => value !== undefined && schema.safeParse(value).success);
}

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly in?: z.ZodType;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly getter?: () => z.ZodType;
}
