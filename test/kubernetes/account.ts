/** A service account with the role that docs/operate/kubernetes.md gives, as the server of an operator has it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../e2e/harness.ts'
import type { TestCluster } from './cluster.ts'

interface Account {
  namespace: string
  name: string
  /** Without what only a server outside needs. */
  isInside: boolean
  /** Otherwise it may only end what others have of agent-sandbox. */
  hasClaims: boolean
}

async function make(cluster: TestCluster, path: string, body: unknown): Promise<unknown> {
  const reply = await cluster.api('POST', path, body)
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  return reply.json()
}

export async function makeNamespace(cluster: TestCluster, name: string): Promise<void> {
  await make(cluster, '/api/v1/namespaces', { metadata: { name } })
}

/** Returns a token that lives for a day. */
export async function makeAccount(cluster: TestCluster, account: Account): Promise<string> {
  const { namespace, name } = account
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const metadata = { name }
  await make(cluster, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata })
  await make(cluster, `${rbac}/roles`, { ...roleOfTheManual(account), metadata })
  await make(cluster, `${rbac}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  })
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const spec = { expirationSeconds: 86_400 }
  return ((await make(cluster, path, { spec })) as { status: { token: string } }).status.token
}

function roleOfTheManual({ isInside, hasClaims }: Account) {
  const text = readFileSync(join(root, 'docs/operate/kubernetes.md'), 'utf8')
  const [, yaml = ''] = /```yaml\n([^`]*kind: Role\n[^`]*)```/.exec(text)!
  const role = Bun.YAML.parse(yaml) as { rules: { resources: string[]; verbs: string[] }[] }
  const rules = role.rules.filter(({ resources }) => !isInside || !resources.includes('pods/portforward'))
  const withoutClaims = ({ resources, verbs, ...rule }: (typeof rules)[number]) => ({
    ...{ ...rule, resources },
    verbs: resources.includes('sandboxclaims') ? verbs.filter((verb) => verb !== 'create') : verbs,
  })
  return { ...role, rules: hasClaims ? rules : rules.map(withoutClaims) }
}
