import { expect, test } from 'bun:test'
import { browserName } from './browser-name.ts'

const blink = (system: string, browser: string) =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${browser} Safari/537.36`

test.each([
  [blink('X11; Linux x86_64', 'Chrome/140.0.0.0'), 'Chrome 140 on Linux'],
  [`${blink('Windows NT 10.0; Win64; x64', 'Chrome/131.0.0.0')} Edg/131.0.0.0`, 'Microsoft Edge 131 on Windows'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox 133 on Linux'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari 18 on iOS',
  ],
])('names the browser and the system of %s', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name)
})

test.each(['', 'curl/8.5.0', 'constructor/1', 'Evil <b>/1.0 (x)', '<img src=x onerror=alert(1)> Mozilla/5.0'])(
  'does not name %p, whose text is shown instead',
  (userAgent) => {
    expect(browserName(userAgent)).toBeNull()
  },
)
