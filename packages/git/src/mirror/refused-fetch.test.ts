import { expect, test } from 'bun:test'
import { type GitFailure, GitError } from '../process/git.ts'
import { isRefusalOfContent } from './refused-fetch.ts'

const end = 'fatal: fetch-pack: invalid index-pack output'
const said = (stderr: string, failure: GitFailure = 'exit') =>
  isRefusalOfContent(new GitError(failure, 'git fetch failed', { stderr }))

test.each([
  `error: object 4c4a: hasDotgit: contains '.git'\nfatal: fsck error in packed object\n${end}`,
  `fatal: pack has bad object at offset 12: inflate returned -3\n${end}`,
  `fatal: pack is corrupted (SHA1 mismatch)\n${end}`,
  `fatal: pack has 2 unresolved deltas\n${end}`,
  `error: index-pack died of signal 24\n${end}`,
  `fatal: Out of memory, malloc failed (tried to allocate 4294967296 bytes)\n${end}`,
  'error: Could not read 1234\nfatal: http://host/a.git did not send all necessary objects',
])('the received data is refused: %j', (words) => expect(said(words)).toBe(true))

test('a fetch over its limits counts as refused data', () => expect(said('', 'limit')).toBe(true))

test.each<[string, GitFailure]>([
  [`error: RPC failed; curl 18 transfer closed with outstanding read data remaining\nfatal: early EOF\n${end}`, 'exit'],
  [`fatal: the remote end hung up unexpectedly\nfatal: early EOF\nerror: inflate returned -5\n${end}`, 'exit'],
  ['fatal: unable to access: The requested URL returned error: 503', 'exit'],
  ['fatal: unable to access: Failed to connect to host port 443: Connection refused', 'exit'],
  ["fatal: could not read Username for 'https://host': terminal prompts disabled", 'exit'],
  [`error: index-pack died of signal 9\n${end}`, 'exit'],
  ['', 'timeout'],
  ['', 'killed'],
  ['', 'aborted'],
])('a network failure or an abort is not refused data: %j', (words, failure) =>
  expect(said(words, failure)).toBe(false),
)
