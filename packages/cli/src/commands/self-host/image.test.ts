import { expect, test } from 'bun:test'
import { svc } from '../../testing.ts'

test('self-host image refuses a name that no engine accepts, before it writes anything', async () => {
  const image = (name: string, output: string) => svc(['self-host', 'image', '--output', output, '--name', name])
  for (const name of ['bad name', 'team/SVC', 'svc:', 'svc:a b', 'https://registry.example/svc', '-svc', 'a//b', '']) {
    const { code, stderr } = await image(name, 'svc.tar')
    expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining('No image can have the name')])
    expect(stderr).toContain('lower-case letters')
  }
  // The folder is missing.
  const accepted = await image('registry.example:5000/team/svc_a-b:0.8.0', '/nowhere/svc.tar')
  expect(accepted.stderr).not.toContain('No image can have the name')
})
