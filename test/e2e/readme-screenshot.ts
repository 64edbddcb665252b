/** Takes the screenshot of the README, docs/assets/change-request.png, from the built program: `node scripts/bun.mjs test/e2e/readme-screenshot.ts`. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, root } from './harness.ts'
import { beginPageStory, gatewayOf } from './page-story.ts'

const before = `import { price } from './price.ts'

/** The total of a cart, in cents. */
export function total(cart: Item[]): number {
  let sum = 0
  for (const item of cart) sum += price(item)
  return sum
}
`
const after = `import { price } from './price.ts'

/** The total of a cart, in cents. Throws when an item has no quantity. */
export function total(cart: Item[]): number {
  let sum = 0
  for (const item of cart) {
    if (item.quantity < 1) throw new RangeError(\`\${item.name} has no quantity\`)
    sum += price(item) * item.quantity
  }
  return sum
}
`
const testOfIt = `import { expect, test } from 'bun:test'
import { total } from './cart.ts'

test('multiplies each price by its quantity', () => {
  expect(total([{ name: 'tea', quantity: 3, cents: 250 }])).toBe(750)
})
`

const story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' }, { colorScheme: 'light' })
try {
  const { server, page } = story
  const project = await server.json<{ project_id: string; slug: string }>(['projects', 'create', '--name', 'shop'])
  const clone = join(server.dir, 'shop')
  await mkdir(join(clone, 'src'), { recursive: true })
  await git(clone, 'init', '--quiet', '--initial-branch', 'main')
  const commit = async (subject: string, files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(clone, name), text)
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', subject)
  }
  await commit('Add the cart', { 'src/cart.ts': before, 'README.md': '# Shop\n' })
  await git(clone, 'push', '--quiet', gatewayOf(server, project), 'main')
  await git(clone, 'switch', '--quiet', '--create', 'cart-quantities')
  await commit('Count quantities in the total', { 'src/cart.ts': after, 'src/cart.test.ts': testOfIt })
  await git(clone, 'push', '--quiet', gatewayOf(server, project), 'cart-quantities')
  await server.json([
    ...['cr', 'open', '--title', 'Count quantities in the cart total', '--head', 'cart-quantities'],
    ...['--description', 'The total ignored `quantity`. It now multiplies each price by it, with a test.'],
    ...['--project', project.project_id],
  ])
  await page.goto(`${server.url}/projects/${project.slug}/change-requests/1`)
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByText('has no quantity').first().waitFor()
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: join(root, 'docs/assets/change-request.png') })
} finally {
  await story.end()
}
