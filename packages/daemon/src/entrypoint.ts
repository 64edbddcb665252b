export async function runEntrypoint(): Promise<void> {}
