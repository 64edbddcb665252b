import { expect, test } from 'bun:test'
import { typedParts } from './typed-text.ts'

const code = (text: string) => ({ isCode: true, text })
const typed = (text: string) => ({ isCode: false, text })

test('fenced code is a part of its own, and the text around it stays as it was typed', () => {
  const text = 'Run **this**:\n\n```sh\nls  -la\n\n# done\n```\n\n1. and\n   then\n\n\n# that & <b>more</b>'
  expect(typedParts(text)).toEqual([
    typed('Run **this**:'),
    code('ls  -la\n\n# done'),
    typed('1. and\n   then\n\n\n# that & <b>more</b>'),
  ])
})

test('fences may be indented, longer, of tildes, or open until the end', () => {
  expect(typedParts('- first\n    ```\n    a\n    ```\n- second')).toEqual([
    typed('- first'),
    code('a'),
    typed('- second'),
  ])
  expect(typedParts('````md\n```\nx\n```\n````')).toEqual([code('```\nx\n```')])
  expect(typedParts('~~~\r\nx\r\n~~~\r\ny')).toEqual([code('x'), typed('y')])
  expect(typedParts('Here:\n```\nx\ny')).toEqual([typed('Here:'), code('x\ny')])
})

test('text without a fence is one part, unchanged', () => {
  for (const text of ['    indented\n\n> quoted\n', 'Use `x` and ```y``` here.', '<script>\n'])
    expect(typedParts(text)).toEqual([typed(text)])
  expect(typedParts(' \n')).toEqual([])
})
