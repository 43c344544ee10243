/** What a caller asks for, as they write it. */
import type { z } from "@hono/zod-openapi";

/** The fields of a query: those that the server fills in may be left out, numbers are numbers and flags true or false. */
export type Asked<Schema extends z.ZodObject> = {
  readonly [Name in keyof z.input<Schema> as Needed<Schema, Name>]: Value<z.output<Schema>[Name & keyof z.output<Schema>]>;
} & {
  readonly [Name in keyof z.input<Schema> as Exclude<Name, Needed<Schema, Name>>]?:
    | Value<z.output<Schema>[Name & keyof z.output<Schema>]>
    | undefined;
};

type Needed<Schema extends z.ZodObject, Name extends keyof z.input<Schema>> =
  Record<never, never> extends Pick<z.input<Schema>, Name> ? never : Name;

type Value<V> = [V] extends ["true" | "false" | undefined] ? boolean : V;
