/** A JSON Schema as TypeScript would write it: short enough to read. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly description?: string;
  readonly default?: unknown;
}

export function nameOfRef({ $ref }: Schema): string | undefined {
  return $ref?.split("/").at(-1);
}

export function typeText(schema: Schema, indent = ""): string {
  const name = nameOfRef(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const any = schema.anyOf ?? schema.oneOf;
  if (any !== undefined) return [...new Set(any.map((one) => typeText(one, indent)))].join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map((one) => typeText(one, indent)).join(" & ");
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeText({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "array":
      return listText(typeText(schema.items ?? {}, indent));
    case "object":
      return objectText(schema, indent);
    case "integer":
      return "number";
    case undefined:
      return schema.properties === undefined ? "unknown" : objectText(schema, indent);
    default:
      return String(schema.type);
  }
}

function listText(item: string): string {
  return / [|&] /.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, schema]) => {
    const key = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
    const said = schema.description === undefined ? [] : [`${inner}/** ${schema.description.replaceAll("\n", " ")} */`];
    return [...said, `${inner}${key}${required.includes(name) ? "" : "?"}: ${typeText(schema, inner)};`];
  });
  const rest = typeof additionalProperties === "object" ? typeText(additionalProperties, inner) : "unknown";
  if (lines.length === 0) return `{ [name: string]: ${rest} }`;
  if (typeof additionalProperties === "object") lines.push(`${inner}[name: string]: ${rest};`);
  return ["{", ...lines, `${indent}}`].join("\n");
}
