import { fileTextBytesMax, ServiceError } from '@svc/contract'
import { type BlameOutcome, blameFile, type FileOutcome, readFileAt, streamFile } from '@svc/git'
import { notFound } from '../../auth/allow.ts'
import { accepts } from '../../http/request-info.ts'
import { type BrowseDeps, resolveRefs } from './resolve-ref.ts'
import type { ProjectRow } from '../store.ts'
import { withinLimits } from '../within-limits.ts'

type FoundFile = Extract<FileOutcome, { kind: 'file' }>

/** The beginning of a file as JSON, or, for `application/octet-stream`, all its bytes at any size. */
export async function fileOf(
  deps: BrowseDeps,
  input: {
    project: ProjectRow
    ref?: string | undefined
    path: string
    accept: string | null
    signal: AbortSignal
  },
) {
  const { project, path, signal } = input
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [ref], signal })
  const { sha } = resolved[0]!
  const found = await withinLimits(readFileAt(repository, { sha, path, bytesMax: fileTextBytesMax }, { signal }))
  if (found.kind !== 'file') throw noFile(found.kind)
  if (accepts(input.accept, 'application/octet-stream')) {
    const bytes = found.truncated ? await streamFile(repository, found.sha, { signal }) : new Uint8Array(found.content)
    return new Response(bytes, { headers: rawHeaders(found.size) })
  }
  const type: 'file' | 'executable' | 'symlink' =
    found.mode === '120000' ? 'symlink' : found.mode === '100755' ? 'executable' : 'file'
  const { size, binary, truncated } = found
  return { ref, sha, path, type, blob_sha: found.sha, size, binary, truncated, ...asText(found) }
}

/** Makes a browser save the bytes: it neither renders nor runs them. */
function rawHeaders(size: number): Record<string, string> {
  return {
    'content-type': 'application/octet-stream',
    'content-length': String(size),
    'content-disposition': 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  }
}

/** Drops a character that the cut split. Content that still is not UTF-8 is sent as base64. */
function asText({ content, binary, truncated }: FoundFile): { encoding: 'utf-8' | 'base64'; content: string } {
  const base64 = () => ({ encoding: 'base64' as const, content: Buffer.from(content).toString('base64') })
  if (binary) return base64()
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { encoding: 'utf-8', content: decoder.decode(content, { stream: truncated }) }
  } catch {
    return base64()
  }
}

function noFile(kind: 'directory' | 'submodule' | 'missing'): ServiceError {
  if (kind === 'missing') return notFound('file')
  const [what, hint] =
    kind === 'directory'
      ? ['a folder', 'GET …/tree lists what is in it.']
      : ['a submodule', 'Its files are in another repository.']
  return new ServiceError('not_found', `There is no such file: it is ${what}.`, { hint, detail: { type: kind } })
}

/** Which commit last changed each line of a text file. */
export async function blameOf(
  deps: BrowseDeps,
  input: { project: ProjectRow; ref?: string | undefined; path: string; signal: AbortSignal },
) {
  const { project, path, signal } = input
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [ref], signal })
  const { sha } = resolved[0]!
  const found = await withinLimits(blameFile(repository, { sha, path }, { signal }))
  if (found.kind !== 'blame') throw noBlame(found.kind)
  return { ref, sha, path, ranges: found.ranges, commits: found.commits }
}

function noBlame(kind: Exclude<BlameOutcome['kind'], 'blame'>): ServiceError {
  if (kind === 'missing' || kind === 'directory' || kind === 'submodule') return noFile(kind)
  const why = {
    binary: 'A binary file has no lines to blame.',
    large: 'This file is too large to blame: it has more than 1 MiB.',
    unnamed: "This file can't be blamed, because its path is not UTF-8.",
  }[kind]
  return new ServiceError('unprocessable', why, { hint: 'Clone the repository and run git blame there.' })
}
