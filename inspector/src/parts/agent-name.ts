/** The agent or person alone, without the path that leads to it. */
export function agentName(by: string): string {
  return by.slice(by.lastIndexOf("/") + 1);
}
