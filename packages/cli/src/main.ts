export async function runClient(_process: NodeJS.Process): Promise<number> {
  return 0
}
