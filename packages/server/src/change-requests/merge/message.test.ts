import { expect, test } from 'bun:test'
import { mergeMessage } from './message.ts'

const cr = { number: 7, title: 'Fix the\nthing' }
const user = { user_id: '0b7d7f0e-0000-4000-8000-000000000001', name: 'Ada\r\nSigned-off-by: Eve' }
const trailer = 'Merged-by: Ada Signed-off-by: Eve <0b7d7f0e-0000-4000-8000-000000000001>\n'

test.each([
  ['nothing given', undefined, `Merge CR #7: Fix the thing\n\n${trailer}`],
  ['an empty message', ' \n\t\n', `Merge CR #7: Fix the thing\n\n${trailer}`],
  ['a subject', 'Ship it', `Ship it\n\n${trailer}`],
  ['a subject that looks like a trailer', 'Fix: typo', `Fix: typo\n\n${trailer}`],
  ['line ends after it', 'Ship it\r\n\r\n', `Ship it\n\n${trailer}`],
  ['a body', 'Ship it\n\nbecause: it is\nready', `Ship it\n\nbecause: it is\nready\n\n${trailer}`],
  [
    'trailers',
    'Ship it\n\nRefs: #3\nCo-authored-by: B <b@c>\n\n',
    `Ship it\n\nRefs: #3\nCo-authored-by: B <b@c>\n${trailer}`,
  ],
  ['a folded trailer', 'Ship it\n\nRefs: #3\n  and #4', `Ship it\n\nRefs: #3\n  and #4\n${trailer}`],
])('the last paragraph names the user who merged: %s', (_, given, expected) => {
  expect(mergeMessage(cr, user, given)).toBe(expected)
})
