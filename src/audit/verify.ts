export async function verify(): Promise<void> {}
