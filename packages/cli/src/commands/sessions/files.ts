import { ServiceError } from '@svc/contract/errors'
import type { SessionFiles } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Guided, Refusal } from '../../errors.ts'
import { cyan, dim, type Piece, yellow } from '../../terminal/output.ts'
import { page } from '../../terminal/pager.ts'
import { safeBlock } from '../../terminal/safe.ts'
import { sessionAt } from './find.ts'
import { sessionArg, shortId } from './labels.ts'

type Folder = Extract<SessionFiles, { type: 'directory' }>
type File = Extract<SessionFiles, { content: string }>

export const files = command({
  summary: 'List a folder or print a file of a session',
  about: [
    'Of a running session it is the work tree of its sandbox as it is now, with files that are not committed and files that git ignores. Of any other session it is what is saved.',
    'A text is paged on a terminal. --json returns a binary file as base64.',
  ],
  scope: 'project',
  args: {
    id: sessionArg,
    path: { summary: 'Folder or file in the work tree (default: its top folder)', optional: true },
  },
  examples: ['svc sessions files 8f3a1c20', 'svc sessions files 8f3a1c20 src/main.ts'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    // As a shell completes the name of a folder.
    const path = (args.path ?? '').replace(/^\.\/|\/+$/g, '')
    const query = path === '' || path === '.' ? {} : { path }
    const found = await at.get('/files', { query }).catch((error: unknown) => noFile(error, at.id))
    const { out } = ctx
    if (out.json) return out.document(found)
    for (const note of found.notes) out.note(note)
    if (found.type === 'directory') return printFolder(ctx, found)
    if ('content' in found) return printFile(ctx, found)
    if (found.type === 'symlink') return out.line(found.path, dim(' -> '), found.target)
    throw new Refusal('not_available', `${found.path} is neither a file nor a folder`, {
      hint: 'It is a pipe, a socket, or a device, so it has no content to print.',
    })
  },
})

/** Only a missing file has a reason; without it the session itself is missing. */
function noFile(error: unknown, id: string): never {
  if (!(error instanceof ServiceError) || error.code !== 'not_found' || error.detail.reason === undefined) throw error
  throw new Guided(error, { next: [`svc sessions files ${shortId(id, true)}`] })
}

function printFolder({ out }: Context, { entries, truncated }: Folder): void {
  out.list(entries, entries, 'The folder is empty.', [
    { title: 'NAME', of: ({ name, type }) => (type === 'directory' ? cyan(`${name}/`) : name), shrink: true },
    { title: 'KIND', of: ({ type }) => type },
    { title: 'BYTES', of: ({ size }) => (size === null ? '' : String(size)) },
    { title: 'GIT', of: ({ git }) => statePiece(git) },
  ])
  if (entries.some(({ git }) => git === null))
    out.note('-: git did not say whether it is committed: it took too long, or the files belong to a submodule.')
  if (truncated) out.warn('The list is truncated: the folder has more entries.')
}

function statePiece(git: SessionFiles['git']): Piece {
  if (git === null) return dim('-')
  return git === 'new' || git === 'changed' ? yellow(git) : git === 'ignored' ? dim(git) : git
}

async function printFile(ctx: Context, file: File): Promise<void> {
  const { out } = ctx
  if (file.encoding !== 'utf-8')
    throw new Refusal('not_available', `${file.path} is not a text file (${file.size} bytes)`, {
      hint: file.content === '' ? 'Only its size is known here.' : 'Use --json to get it as base64.',
    })
  if (out.terminal) await page(ctx, safeBlock(file.content))
  else out.raw(file.content)
  if (file.truncated) out.warn('The file is larger than 1 MiB and is truncated.')
}
