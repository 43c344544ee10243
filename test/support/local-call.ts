/** What Node's adapter gives beside a request that comes from this machine, or from another one. */
export function callFrom(remoteAddress: string): { readonly incoming: { readonly socket: { readonly remoteAddress: string } } } {
  return { incoming: { socket: { remoteAddress } } };
}

export const local = callFrom("127.0.0.1");
