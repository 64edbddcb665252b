export async function runAgent(_args: string[]): Promise<void> {}
