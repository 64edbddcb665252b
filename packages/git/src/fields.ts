import { Turns } from './turns.ts'

/** What git prints with `-z`, as latin1 so that every byte survives. The last one is behind the last NUL, mostly empty. */
export async function splitFields(bytes: Buffer): Promise<string[]> {
  const turns = new Turns()
  const fields: string[] = []
  let at = 0
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, at)) {
    fields.push(bytes.toString('latin1', at, end))
    at = end + 1
    if (turns.isOver) await turns.next()
  }
  fields.push(bytes.toString('latin1', at))
  return fields
}
