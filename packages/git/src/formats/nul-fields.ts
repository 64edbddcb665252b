import { CooperativeYield } from './cooperative-yield.ts'

/** Splits `-z` output into latin1 fields, which keep every byte. The last one, after the last NUL, is usually empty. */
export async function splitFields(bytes: Buffer): Promise<string[]> {
  const yields = new CooperativeYield()
  const fields: string[] = []
  let at = 0
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, at)) {
    fields.push(bytes.toString('latin1', at, end))
    at = end + 1
    if (yields.isDue) await yields.next()
  }
  fields.push(bytes.toString('latin1', at))
  return fields
}
