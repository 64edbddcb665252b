/** Foreign text in every field of a message never becomes a mention, link or command, and never reorders its neighbors. */
import { describe, expect, test } from 'bun:test'
import type { KnownBlock } from '@slack/web-api'
import type { Message } from '../outbox/message.ts'
import { renderForSlack } from './render.ts'

const hostile: [string, string][] = [
  ['a command', '<!channel> <!here> <!everyone> <!subteam^S1|x>'],
  ['a mention', '<@U0ADMIN> <#C0GENERAL>'],
  ['a link with other words', '<https://evil.test|https://svc.example>'],
  ['a link of markdown', '[https://svc.example](https://evil.test)'],
  ['an escaped command', '&lt;!channel&gt; &amp;lt;!channel&amp;gt;'],
  ['the end of a link', 'x|y> <!channel> <https://evil.test'],
  ['backquotes', '` <!channel> ``` <!here> ```'],
  ['marks of other looks', '*a* _b_ ~c~ `d`'],
  ['text that turns around', 'main\u202Egnissim\u2066\u2069\u200F\u061C'],
  ['control characters', 'a\u0000b\u001b[31mc\u009b\u0007'],
  ['lines', 'a\n*Merged by Ada*\r\n<!channel>'],
  ['half a character', '\ud800 <!channel>'],
  ['much text', '<!channel> '.repeat(5_000)],
]

const messageOf = (text: string): Message => ({
  summary: text,
  parts: [
    { kind: 'markdown', text },
    { kind: 'markdown', text: `# ${text}\n- ${text}\n\`\`\`\n${text}\n\`\`\`` },
    { kind: 'line', words: [text, { bold: text }, { code: text }, { link: 'https://svc.example/x', text }] },
    { kind: 'line', words: [{ link: `https://svc.example/${text}`, text: 'x' }, { person: text }] },
    { kind: 'note', words: [text, { person: 'U0ADA' }] },
    {
      kind: 'buttons',
      buttons: [
        { kind: 'link', label: text, url: 'https://svc.example/x' },
        { kind: 'merge', label: text, value: 'v', confirm: { title: text, text, yes: text } },
      ],
    },
  ],
})

interface Shown {
  type: 'plain_text' | 'mrkdwn'
  text: string
  verbatim?: boolean
}

function textsIn(value: unknown): Shown[] {
  if (typeof value !== 'object' || value === null) return []
  const own = 'text' in value && typeof value.text === 'string' ? [value as Shown] : []
  return [...own, ...Object.values(value).flatMap(textsIn)]
}

describe.each(hostile)('rendering hostile text: %s', (_, text) => {
  const { text: summary, blocks } = renderForSlack(messageOf(text))
  const shown = textsIn(blocks satisfies KnownBlock[])

  test('escapes Slack markup', () => {
    const markup = [summary, ...shown.filter(({ type }) => type === 'mrkdwn').map((one) => one.text)]
    for (const each of markup)
      for (const [found] of each.matchAll(/<[^>]*>?/g))
        expect(found).toMatch(/^<(@U0ADA|https:\/\/svc\.example\/[^|<>]*\|[^|<>]*)>$/)
    expect(summary).not.toMatch(/[<>]/)
    for (const each of shown.filter(({ type }) => type === 'mrkdwn')) expect(each.verbatim).toBe(true)
  })

  test('removes control characters and text direction marks, also in buttons and questions', () => {
    for (const each of [summary, ...shown.map((one) => one.text)]) {
      expect(each).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/)
      expect(each.isWellFormed()).toBe(true)
    }
    // A message with too many blocks loses the last ones.
    const isWhole = blocks.some(({ type }) => type === 'actions')
    expect(isWhole || text.length > 10_000).toBe(true)
  })
})
