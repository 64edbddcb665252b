import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Failure, Read, useSend } from '../../components/requests.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Badge, Time, type Tone } from '../../ui/text.tsx'
import { Button, buttonClass, Select } from '../../ui/form.tsx'
import { Card, Empty, Notice, Page, Row, Rows } from '../../ui/layout.tsx'
import { paths } from '../../paths.ts'
import { secrets } from '../projects/queries.ts'
import { Approvals } from './approvals.tsx'
import { connectors, type Connector, type ConnectorTool, type Policy } from './queries.ts'

const tones: Record<Connector['status'], Tone> = { ready: 'good', failed: 'bad', unchecked: 'neutral', off: 'neutral' }

const example = `[[connectors]]
slug = "tracker"
type = "mcp"
url = "https://mcp.example.com/mcp"
auth = { type = "bearer", secret_env = "TRACKER_TOKEN" }`

export function ConnectorsPage() {
  return (
    <Page title="Connectors">
      <Approvals />
      <Read query={connectors(useProject().project_id)} what="connectors">
        {({ connectors, errors, provider }) => (
          <>
            {provider === 'none' && (
              <Notice tone="neutral" title="Connectors are turned off on this server">
                The operator can turn them on with <code>svc self-host configure</code>.
              </Notice>
            )}
            <ManifestIssues issues={errors} />
            {connectors.map((each) => (
              <ConnectorCard key={each.slug} connector={each} />
            ))}
            {connectors.length === 0 && (
              <Card>
                <Empty command={example}>
                  No connectors yet. A connector gives agents tools from an MCP server or an HTTP API. Define one in
                  svc.toml on the default branch:
                </Empty>
              </Card>
            )}
          </>
        )}
      </Read>
    </Page>
  )
}

function ConnectorCard({ connector }: { connector: Connector }) {
  const { project_id: projectId } = useProject()
  const path = { projectId, slug: connector.slug }
  const settle = { refetch: [['project', projectId, 'connectors']] }
  const check = useSend('POST', '/v1/projects/{projectId}/connectors/{slug}/check', { path, ...settle })
  const decide = useSend('PATCH', '/v1/projects/{projectId}/connectors/{slug}/policies', { path, ...settle })
  const error = check.error ?? decide.error
  return (
    <Card
      title={connector.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tones[connector.status]}>{connector.status}</Badge>
          <Button action={check}>Check connection</Button>
        </span>
      }
    >
      <div className="flex flex-col gap-3 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        {connector.error !== null && <Problem connector={connector} error={connector.error} />}
        <p className="text-dim">
          {connector.type === 'mcp' ? 'MCP server' : 'HTTP API'} at{' '}
          <code className="font-mono break-all">{connector.url}</code>
          {connector.auth?.secret_env != null && (
            <>
              , with the secret <code className="font-mono">{connector.auth.secret_env}</code>
            </>
          )}
          {connector.checked_at !== null && (
            <>
              {' '}
              · checked <Time at={connector.checked_at} />
            </>
          )}
        </p>
        <PolicySelect
          label={`Default policy for ${connector.slug}`}
          fallback="Allow reading, ask for everything else"
          decided={connector.policy}
          onChange={(policy) => decide.mutate({ policy })}
        />
      </div>
      {connector.tools.length > 0 && (
        <Rows label={`Tools of ${connector.slug}`}>
          {connector.tools.map((tool) => (
            <ToolRow
              key={tool.name}
              tool={tool}
              onChange={(policy) => decide.mutate({ tools: { [tool.name]: policy } })}
            />
          ))}
        </Rows>
      )}
    </Card>
  )
}

function Problem({ connector: { auth, hint }, error }: { connector: Connector; error: string }) {
  const { project_id: projectId, slug: project } = useProject()
  const { data } = useQuery(secrets(projectId))
  const secret = auth?.secret_env ?? null
  const isMissing = secret !== null && data !== undefined && !data.items.some(({ name }) => name === secret)
  if (!isMissing) return <Notice title={error}>{hint}</Notice>
  return (
    <Notice
      title={error}
      action={
        <Link to={paths.secrets} params={{ project }} className={buttonClass()}>
          Set the secret
        </Link>
      }
    >
      {hint === null ? null : `In a terminal: \`${hint}\``}
    </Notice>
  )
}

function ToolRow({ tool, onChange }: { tool: ConnectorTool; onChange: (policy: Policy | null) => void }) {
  return (
    <Row>
      <span className="min-w-48 flex-1">
        <code className="font-mono break-all">{tool.name}</code> {tool.read_only && <Badge>read-only</Badge>}
        {tool.description !== '' && <span className="line-clamp-2 block text-sm text-dim">{tool.description}</span>}
      </span>
      <PolicySelect
        label={`Policy for ${tool.name}`}
        fallback={`Default: ${labels[tool.policy]}`}
        decided={tool.decided}
        onChange={onChange}
      />
    </Row>
  )
}

const labels: Record<Policy, string> = { allow: 'Allow', ask: 'Ask a person', block: 'Block' }
const policies = Object.entries(labels) as [Policy, string][]

interface Decision {
  label: string
  fallback: string
  decided: Policy | null
  onChange: (policy: Policy | null) => void
}

function PolicySelect({ label, fallback, decided, onChange }: Decision) {
  return (
    <Select
      label={label}
      value={decided ?? ''}
      options={[['', fallback], ...policies]}
      onChange={(value) => onChange(value === '' ? null : value)}
    />
  )
}
