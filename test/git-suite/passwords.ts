import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'

/** The user of a request with a valid password, by Apache's `passwd` file: lines of `name:crypt(password)`. */
export function userOf(root: string, { headers }: IncomingMessage): string | null {
  const [, encoded] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? []
  if (encoded === undefined) return null
  const [name = '', password = ''] = splitOnce(Buffer.from(encoded, 'base64').toString())
  const line = readFileSync(join(root, 'passwd'), 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  if (line === undefined) return null
  const [, hash = ''] = splitOnce(line)
  return crypt(password, hash) === hash ? name : null
}

/** crypt(3) by perl, which git's tests need anyway. */
function crypt(password: string, salt: string): string {
  return spawnSync('perl', ['-e', 'print crypt($ARGV[0], $ARGV[1])', '--', password, salt]).stdout.toString()
}

function splitOnce(text: string): [string, string] {
  const colon = text.indexOf(':')
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
}
