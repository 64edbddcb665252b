import { useMutation, useQuery } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { Approvals } from './approvals.tsx'
import { connectors, type Connector, type ConnectorTool, type Policy } from './queries.ts'
import { Page } from '../../ui/page.tsx'

const tones: Record<Connector['status'], Tone> = { ready: 'good', failed: 'bad', unchecked: 'neutral', off: 'neutral' }

const example = `[[connectors]]
slug = "tracker"
type = "mcp"
url = "https://mcp.example.com/mcp"
auth = { type = "bearer", secret_env = "TRACKER_TOKEN" }`

export function ConnectorsPage() {
  const { project_id: projectId } = useProject()
  const found = useQuery(connectors(projectId))
  return (
    <Page title="Connectors">
      <Approvals />
      <QueryResult of={found} what="connectors">
        {({ connectors, errors, provider }) => (
          <>
            {provider === 'none' && (
              <Notice tone="neutral" title="Connectors are turned off on this server">
                The operator can turn them on with <code>svc self-host configure</code>.
              </Notice>
            )}
            <ManifestIssues issues={errors} />
            {connectors.length === 0 ? (
              <Card>
                <Empty command={example}>
                  No connectors yet. A connector gives agents tools from an MCP server or an HTTP API. Define one in
                  svc.toml on the default branch:
                </Empty>
              </Card>
            ) : (
              connectors.map((each) => <ConnectorCard key={each.slug} projectId={projectId} connector={each} />)
            )}
          </>
        )}
      </QueryResult>
    </Page>
  )
}

function ConnectorCard({ projectId, connector }: { projectId: string; connector: Connector }) {
  const path = { projectId, slug: connector.slug }
  const settle = { onSettled: useInvalidate(['project', projectId, 'connectors']) }
  const check = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/connectors/{slug}/check', { params: { path } })),
    ...settle,
  })
  const decide = useMutation({
    mutationFn: (body: { policy?: Policy | null; tools?: Record<string, Policy | null> }) =>
      reply(api.PATCH('/v1/projects/{projectId}/connectors/{slug}/policies', { params: { path }, body })),
    ...settle,
  })
  const error = check.error ?? decide.error
  return (
    <Card
      title={connector.slug}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tones[connector.status]}>{connector.status}</Badge>
          <Button busy={check.isPending} onClick={() => check.mutate()}>
            Check connection
          </Button>
        </span>
      }
    >
      <div className="flex flex-col gap-3 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        {connector.error !== null && <Notice title={connector.error}>{connector.hint}</Notice>}
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

function PolicySelect({
  label,
  fallback,
  decided,
  onChange,
}: {
  label: string
  fallback: string
  decided: Policy | null
  onChange: (policy: Policy | null) => void
}) {
  return (
    <Select
      label={label}
      value={decided ?? ''}
      options={[['', fallback], ...policies]}
      onChange={(value) => onChange(value === '' ? null : value)}
    />
  )
}
