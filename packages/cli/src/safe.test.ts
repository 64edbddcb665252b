import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { colourPatch } from './colour-patch.ts'
import { safe, safeBlock, safeJson, safePatch } from './safe.ts'
import { aChangeRequest, aDiff, aProject, aSession, ids, startService, svc } from './testing.ts'

/** Everything a terminal could act on, and everything that hides. */
const acts =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/u

const hostile = [
  '\x1b[2J\x1b[H',
  '\x1b]0;title\x07',
  '\x1b]52;c;aGk=\x07',
  '\x1bP+q\x1b\\',
  '\x9b31m',
  '\x9d0;x\x9c',
  '\x07',
  '\b\b\b',
  '\r overwritten',
  '\u202egnp.exe',
  '\u2066hidden\u2069',
  '\u200b',
  '\u{e0041}',
  '\ud800',
  'a\nb',
  'a\tb',
  '\x7f',
  '\0',
  '\u2028',
  '\x1b]8;;http://evil\x07click\x1b]8;;\x07',
]

describe('safe', () => {
  test('shows what a terminal would act on', () => {
    expect(safe('\x1b[31mred\x07')).toBe('␛[31mred␇')
    expect(safe('a\x9bb')).toBe('a<U+009B>b')
    expect(safe('file\u202egnp.exe')).toBe('file<U+202E>gnp.exe')
    expect(safe('two\nlines\tand a tab')).toBe('two␊lines␉and a tab')
    expect(safe('half \ud83d')).toBe('half �')
  })

  test('leaves what people write', () => {
    for (const text of ['Grüße', '日本語', 'שלום', '👩‍👩‍👧 family', 'é', 'a “quote” — and … more', '☕️'])
      expect(safe(text)).toBe(text)
  })

  test('keeps the layout of several lines, and the carriage returns of a patch', () => {
    expect(safeBlock('a\r\n\tb\x1b')).toBe('a\n\tb␛')
    expect(safePatch('+a\r\n')).toBe('+a␍\n')
  })

  test('nothing a terminal acts on comes through, whatever it is given', () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...hostile))
    fc.assert(
      fc.property(fc.array(anything), (parts) => {
        const text = parts.join('')
        expect(safe(text)).not.toMatch(acts)
        expect(safe(text)).not.toMatch(/[\n\t]/)
        expect(safeBlock(text)).not.toMatch(acts)
        expect(colourPatch(text, false)).not.toMatch(acts)
        const json = safeJson({ text })
        expect(json).not.toMatch(acts)
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ text })))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('every foreign string on its way to a terminal', () => {
  const calls = [
    ['whoami'],
    ['projects', 'ls'],
    ['projects', 'info', ids.project],
    ['projects', 'create'],
    ['projects', 'link', ids.project],
    ['projects', 'rm', ids.project, '--yes'],
    ['sessions', 'ls'],
    ['sessions', 'info', ids.session],
    ['sessions', 'new'],
    ['sessions', 'stop', ids.session],
    ['sessions', 'restart', ids.session],
    ['sessions', 'rm', ids.session, '--yes'],
    ['sessions', 'chat', ids.session, '--prompt', 'x'],
    ['cr', 'ls'],
    ['cr', 'show', '3'],
    ['cr', 'diff', '3'],
    ['cr', 'diff', '3', '--stat'],
    ['cr', 'open', '--title', 'x', '--head', 'y'],
    ['cr', 'merge', '3'],
    ['cr', 'close', '3'],
    ['cr', 'reopen', '3'],
    ['secrets', 'ls'],
    ['self-host', 'owner-link'],
  ]

  test.each(calls)('svc %s %s %s', async (...words) => {
    const args = words.filter((word) => typeof word === 'string')
    for (const text of hostile.filter((one) => one !== '\ud800')) {
      const cr = aChangeRequest({ title: text, description: text, head_ref: text, base_ref: text })
      const session = aSession({
        name: text,
        error: text,
        branch_name: text,
        base_ref: text,
        agent_name: text,
        model: text,
        sandbox_url: text,
      })
      const project = aProject({
        slug: text,
        name: text,
        repo_url: text,
        default_branch: text,
        git_url: text,
        config_dir: text,
      })
      const at = cr.created_at
      await using service = startService({
        whoAmI: () => ({
          kind: 'user',
          user: { user_id: ids.user, name: text, email: text },
          account: { account_id: ids.account, name: text },
          project_id: null,
          session_id: text && null,
          expires_at: null,
        }),
        createProject: () => project,
        listProjects: () => [project],
        getProject: () => project,
        createSession: () => session,
        listSessions: () => [session],
        getSession: () => session,
        stopSession: () => session,
        restartSession: () => session,
        getTimeline: () => ({ phases: [{ name: text, started_at: at, ms: 1, error: text }] }),
        openChangeRequest: () => cr,
        listChangeRequests: () => ({ change_requests: [cr, { ...cr, cr_id: ids.project }] }),
        closeChangeRequest: () => cr,
        reopenChangeRequest: () => cr,
        previewChangeRequest: () => ({
          base_sha: text,
          head_sha: text,
          merge_base: null,
          is_up_to_date: true,
          can_merge: false,
          can_fast_forward: false,
          conflicts: [text],
        }),
        diffChangeRequest: () => ({
          ...aDiff(text),
          files: [{ path: text, old_path: text, status: 'renamed', additions: 1, deletions: 1, binary: false }],
        }),
        mergeChangeRequest: () =>
          Response.json({ error: text, code: 'merge_conflict', hint: text, conflicts: [text] }, { status: 409 }),
        listSecrets: () => ({
          items: [{ name: text, created_at: at, updated_at: at, created_by: null }],
          required: [text],
          optional: [text],
          missing: [text],
          revision: text,
        }),
        createOwnerLink: () => ({ url: text, expires_at: at }),
        async *streamSessionEvents() {
          const message = { message_id: 'm1', created_at: at, completed_at: at, error: null }
          yield { type: 'message', message: { ...message, message_id: 'm0', role: 'user', parts: [] } }
          yield {
            type: 'message',
            message: {
              ...message,
              role: 'assistant',
              parts: [
                { type: 'text', id: '1', text },
                { type: 'tool', id: '2', tool: text, status: 'error', title: text, input: text, output: text },
              ],
            },
          }
          yield { type: 'turn', status: 'error', error: text }
        },
      })
      const { stdout, stderr } = await svc(args, {
        service,
        env: { SVC_PROJECT_ID: ids.project, SVC_PAGER: '' },
        terminal: true,
      })
      // Our own colours and the line we rewrite are taken away; nothing else may be left.
      // oxlint-disable-next-line no-control-regex
      const left = (stdout + stderr).replace(/\x1b\[\d{1,2}m/g, '').replaceAll('\r\x1b[2K', '')
      expect(left).not.toMatch(acts)
    }
  })
})
