export async function runServer(_args: string[]): Promise<void> {}
