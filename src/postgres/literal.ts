/** A text as a part of a statement. Statements that are sent together are one transaction, and take no values beside them. */
export function literal(text: string): string {
  return `convert_from(decode('${Buffer.from(text).toString("hex")}', 'hex'), 'UTF8')`;
}
