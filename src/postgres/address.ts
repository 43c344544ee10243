/** Where a database is, as errors may say it. */
import { RathError } from "../session/errors.ts";

export interface Address {
  /** Host, port and database, without the user. */
  readonly place: string;
  /** What must not appear in any message: the password, as written and as meant. */
  readonly secrets: readonly string[];
}

/** Reads a URL once, before anything else sees it, since the errors of others quote it. */
export function addressOf(url: string): Address {
  const parsed = parse(url);
  if (parsed === undefined || !/^postgres(?:ql)?:$/.test(parsed.protocol)) {
    throw new RathError(
      "value.unsupported",
      "This is no URL of a PostgreSQL database: it must look like postgres://user:password@host:5432/database.",
      { details: { field: "url" } },
    );
  }
  const given = [parsed.password, parsed.searchParams.get("password") ?? ""].filter((secret) => secret !== "");
  const host = parsed.hostname || parsed.searchParams.get("host") || "localhost";
  const place = `PostgreSQL at ${host}:${parsed.port || "5432"}${parsed.pathname}`;
  return { place, secrets: [...new Set(given.flatMap((secret) => [secret, decoded(secret)]))] };
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
