import { type Arg, command } from '../arguments/command.ts'
import { cyan } from '../terminal/output.ts'
import { Refusal } from '../errors.ts'
import { page } from '../terminal/pager.ts'
import { safeBlock } from '../terminal/safe.ts'

export const placeArg = {
  summary: 'branch:path, or a path on the default branch',
} as const satisfies Arg

/** The form git uses. A path with a colon needs its branch before it. */
export function placeOf(given: string): { ref?: string; path: string } {
  const at = given.indexOf(':')
  return at <= 0 ? { path: given.slice(at + 1) } : { ref: given.slice(0, at), path: given.slice(at + 1) }
}

export const ls = command({
  summary: 'List a folder of the repository',
  scope: 'project',
  args: { place: { ...placeArg, summary: 'branch:folder, or a folder on the default branch', optional: true } },
  examples: ['svc file ls', 'svc file ls greeting:src --json name,size'],
  async run({ out, project }, { args }) {
    const query = placeOf(args.place ?? '')
    const found = await project.get('/tree', { query })
    out.list(found.entries, found.entries, 'The folder is empty.', [
      { title: 'NAME', of: ({ name, type }) => (type === 'directory' ? cyan(`${name}/`) : name), shrink: true },
      { title: 'KIND', of: ({ type }) => type },
      { title: 'BYTES', of: ({ size }) => (size === null ? '' : String(size)) },
    ])
    if (found.truncated && !out.json) out.warn('The list is truncated: the folder has more entries.')
  },
})

export const show = command({
  summary: 'Print a file of the repository',
  about: ['Paged on a terminal. --json returns a binary file as base64.'],
  scope: 'project',
  args: { place: placeArg },
  examples: ['svc file show src/main.ts', 'svc file show greeting:page.html'],
  async run(ctx, { args }) {
    const file = await ctx.project.get('/file', { query: placeOf(args.place) })
    const { out } = ctx
    if (out.json) return out.document(file)
    if (file.encoding !== 'utf-8')
      throw new Refusal('not_available', `${file.path} is not a text file (${file.size} bytes)`, {
        hint: 'Use --json to get it as base64.',
      })
    if (out.terminal) await page(ctx, safeBlock(file.content))
    else out.raw(file.content)
    if (file.truncated) out.warn('The file is larger than 1 MiB and is truncated.')
  },
})
