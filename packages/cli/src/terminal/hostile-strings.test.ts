/** Every foreign string in every command, on its way to a terminal. */
import type { Message } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { classOfCode, ServiceError } from '@svc/contract/errors'
import { routes } from '@svc/contract/openapi'
import {
  aChangeRequest,
  aDiff,
  aMember,
  type Answers,
  ids,
  startService,
  svc,
  temporaryFolder,
  usual,
} from '../testing.ts'
import { all, elsewhere, good } from '../testing/calls.ts'
import { makeEmulator } from '../testing/emulator.ts'
import { aQuestion } from '../testing/question.ts'

const codes = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => String.fromCharCode(from + n))

/** Control sequences by kind: every introducer with every terminator. */
const hostile: string[] = [
  ...codes(0, 0x1f),
  ...codes(0x7f, 0x9f),
  ...codes(0x40, 0x7e).map((final) => `\x1b[1;2${final}`),
  ...codes(0x40, 0x7e).map((final) => `\x9b7${final}`),
  ...codes(0x40, 0x7e).map((final) => `\x1b[?25${final}`),
  ...codes(0x20, 0x7e).map((final) => `\x1b${final}`),
  ...[...codes(0x20, 0x2f)].map((between) => `\x1b${between}8`),
  ...Array.from({ length: 60 }, (_, n) => `\x1b]${n};payload\x07`),
  ...[52, 104, 110, 112, 133, 777, 1337].flatMap((n) => [`\x1b]${n};c;aGk=\x1b\\`, `\x9d${n};c;aGk=\x9c`]),
  '\x1b]8;;http://evil.test\x07click\x1b]8;;\x07',
  ...['P', 'X', '^', '_'].flatMap((kind) => [`\x1b${kind}q1;payload\x1b\\`, `\x1b${kind}+q544e\x9c`]),
  ...['\x1b[38;5;9m', '\x1b[48;2;1;2;3m', '\x1b[7m', '\x1b[8mhidden', '\x1b[5m', '\x1b[4m', '\x1b[0m', '\x1b[31;1mred'],
  ...[
    ...'\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\u206f\u3164\ufeff\uffa0\ufff9',
  ],
  ...[
    '\u{e0001}',
    '\u{e0041}',
    '\u{e007f}',
    '\ud800',
    '\udc00x',
    'file\u202egnp.exe',
    'a\r\nb',
    'a\tb',
    '\b\b\bover',
    '\r over',
  ],
  ...Array.from({ length: 60 }, (_, n) => `\x1b[${n}m`),
]
const perField = 20
const rounds = Math.ceil(hostile.length / perField)
const columns = 4000
const { misdeeds } = makeEmulator(columns)
const env = { SVC_PROJECT_ID: ids.project, SVC_PAGER: '', BROWSER: '/bin/true' }

test('the test has more than five hundred hostile strings', () => expect(new Set(hostile).size).toBeGreaterThan(500))

/** A sample with the first one first: the start of a text is not always its end. */
function someOf(round: number): string {
  const start = round * perField
  return Array.from({ length: perField }, (_, n) => hostile[(start + n) % hostile.length]).join('x')
}

type Path = (string | number)[]

/** Every name is hostile here, so no name matches. */
function byId(word: string): string {
  const found: Record<string, string> = { app: ids.project, 'bo@example.com': ids.token, Bo: ids.token, laptop: ids.cr }
  return found[word] ?? word
}

/** A merge sends it back, and the contract validates commits. */
const sentBack = 'head_commit_sha'

/** The paths in a response where the contract allows any text. */
function openPlaces(name: string, answer: unknown): Path[] {
  const { reply } = routes.find((route) => route.name === name)!
  return strings(answer).filter(
    (path) => path.at(-1) !== sentBack && reply.safeParse(replaced(answer, [path], 'free text')).success,
  )
}

function strings(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => strings(inner, [...path, key]))
}

function replaced(answer: unknown, places: Path[], text: string): unknown {
  const copy: unknown = structuredClone(answer)
  for (const place of places) {
    let at = copy as Record<string, unknown>
    for (const key of place.slice(0, -1)) at = at[key] as Record<string, unknown>
    at[place.at(-1)!] = text
  }
  return copy
}

/** The default responses with hostile text wherever the contract allows it. */
function hostileAnswers(text: () => string): Answers {
  const places = new Map<string, Path[]>()
  return Object.fromEntries(
    Object.entries(usual).map(([name, make]) => [
      name,
      (got: Parameters<typeof make>[0]) => {
        const answer = make(got)
        if (!places.has(name)) places.set(name, openPlaces(name, answer))
        return replaced(answer, places.get(name)!, text())
      },
    ]),
  )
}

async function shown(args: readonly string[], options: Parameters<typeof svc>[1]): Promise<string> {
  const { stdout, stderr } = await svc(args, { ...options, terminal: true, columns })
  return stdout + stderr
}

describe('hostile strings', () => {
  // Waiting for a session to run polls until its status is a known one.
  const names = all.map(([name]) => name).filter((name) => good[name]!.speaks && !elsewhere.has(name))
  test.each(names)('svc %s prints no control sequence from a hostile reply', async (name) => {
    let round = 0
    await using service = startService(hostileAnswers(() => someOf(round)))
    for (; round < rounds; round++) {
      const { args, stdin } = good[name]!
      const call = [...name.split(' '), ...args.map(byId), ...(round % 5 === 4 ? ['--json'] : [])]
      const bytes = await shown(call, { service, env, ...(stdin === undefined ? {} : { stdin }) })
      expect([round, ...(await misdeeds(bytes))]).toEqual([round])
    }
  })

  test('prints no control sequence from a refusal, its hint or its facts', async () => {
    for (let round = 0; round < rounds; round++) {
      const text = someOf(round)
      const code = (['merge_conflict', 'invalid', 'not_found', 'concurrent_session_limit'] as const)[round % 4]!
      expect(code === 'invalid' || code === 'not_found' || code in classOfCode).toBeTrue()
      await using service = startService({
        mergeChangeRequest: () => {
          throw new ServiceError(code, text, {
            hint: text,
            detail: { conflicts: [text], issues: [{ path: text, message: text }], request_id: text },
          })
        },
      })
      const bytes = await shown(['cr', 'merge', '3'], { service, env })
      expect([round, ...(await misdeeds(bytes))]).toEqual([round])
    }
  })

  test('prints no control sequence from a patch, a file name or a conversation', async () => {
    for (let round = 0; round < rounds; round++) {
      const text = someOf(round)
      const at = aChangeRequest().created_at
      const message = { message_id: 'm1', created_at: at, completed_at: at, error: null }
      const tool = { type: 'tool', id: '2', tool: text, status: 'error', title: text, input: text, output: text }
      const parts = [{ type: 'text', id: '1', text }, tool] as never
      const said: Message[] = [
        { ...message, message_id: 'm0', role: 'user', parts: [] },
        { ...message, role: 'assistant', parts },
        { ...message, message_id: ids.cr, role: 'user', error: text, parts },
      ]
      let kept: Message[] = []
      const asked = aQuestion({ title: text, detail: text, status: 'expired', reason: text, asked_at: at })
      const waiting = {
        ...{ prompt_id: ids.token, text, status: 'accepted', error: null, created_by: ids.user, created_at: at },
        ...{ settled_at: null, attachments: [] },
      }
      await using service = startService({
        diffChangeRequest: () => aDiff(`diff --git a/${text} b/${text}\n@@ -1 +1 @@ ${text}\n-${text}\n+${text}\n`),
        async *streamSessionEvents() {
          for (const message of said) yield { type: 'message', message }
          yield { type: 'question', question: asked }
          yield { type: 'turn', status: 'error', error: text }
        },
        getTranscript: () => ({ messages: kept }),
        listQuestions: () => ({ questions: [asked] }),
        listMembers: () => [aMember({ name: text })],
        listPrompts: () => ({ prompts: [waiting] }),
      })
      for (const args of [
        ['cr', 'diff', '3'],
        ['sessions', 'chat', ids.session, '--prompt', 'x'],
        ['sessions', 'watch', ids.session, '--once'],
        ['sessions', 'log', ids.session],
        ['sessions', 'log', ids.session, '--markdown'],
      ]) {
        // Text before a prompt is no answer to it.
        kept = args[1] === 'log' ? said : []
        expect([round, ...(await misdeeds(await shown(args, { service, env })))]).toEqual([round])
      }
    }
  })

  test('prints no control sequence from the configuration, the link file or the arguments', async () => {
    for (let round = 0; round < rounds; round++) {
      const text = someOf(round)
      await using folder = await temporaryFolder()
      const cwd = folder.path
      await mkdir(join(cwd, '.svc'))
      await writeFile(
        join(cwd, '.svc/link.json'),
        JSON.stringify({
          project_id: ids.project,
          account_id: text,
          host: text,
          host_url: `http://127.0.0.1:1/${text}`,
        }),
      )
      const config = join(cwd, 'config.json')
      const hosts = { [text]: { url: 'http://127.0.0.1:1' } }
      await writeFile(config, JSON.stringify({ active_host: text, hosts, tokens: {} }), { mode: 0o600 })
      const word = text.replaceAll('\0', '')
      for (const args of [
        ['hosts', 'ls'],
        ['hosts', 'current'],
        ['hosts', 'info'],
        ['cr', 'ls'],
        [word],
        ['cr', word],
        ['cr', 'ls', `--${word}`],
        ['cr', 'show', word],
        ['cr', 'ls', '--status', word],
        ['cr', 'ls', '--host', word],
        ['env', 'push', '--from', word],
        ['env', 'pull', '--out', word],
        ['secrets', 'set', word],
        ['settings', 'set', word],
        ['__complete', '--', 'hosts', 'use', ''],
      ]) {
        const bytes = await shown(args, { cwd, env: { SVC_CONFIG_FILE: config } })
        // A shell reads the completions, which contain tabs.
        expect([round, args[0], ...(await misdeeds(bytes))]).toEqual([round, args[0] as never])
      }
    }
  })
})
