import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Answer } from '../../components/answer.tsx'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches, type ChangeRequest, changeRequests, type Session, sessions } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Row, Rows } from '../../ui/card.tsx'

interface Branch {
  name: string
  sha: string
  is_default: boolean
}

export function BranchesPage() {
  const { project_id, slug } = useProject()
  const found = useQuery(branches(project_id))
  const { data: proposals = [] } = useQuery(changeRequests(project_id, 'all'))
  const { data: agents = [] } = useQuery(sessions(project_id))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Branches</h1>
      <Card>
        <Answer of={found} what="branches">
          {({ branches }) =>
            branches.length === 0 ? (
              <EmptyRepository />
            ) : (
              <Rows label="Branches">
                {branches.map((branch) => (
                  <Row key={branch.name}>
                    <span className="min-w-0 flex-1 basis-60">
                      <span className="font-mono text-sm wrap-anywhere">{branch.name}</span>
                      <OfSession
                        session={agents.find(({ branch_name }) => branch_name === branch.name)}
                        project={slug}
                      />
                    </span>
                    {branch.is_default ? (
                      <Badge tone="accent">default</Badge>
                    ) : (
                      <Proposal branch={branch} of={proposalOf(branch, proposals)} project={slug} />
                    )}
                    <code className="font-mono text-sm text-dim">{branch.sha.slice(0, 12)}</code>
                  </Row>
                ))}
              </Rows>
            )
          }
        </Answer>
      </Card>
    </div>
  )
}

function OfSession({ session, project }: { session: Session | undefined; project: string }) {
  if (session === undefined) return null
  return (
    <span className="block text-sm text-dim">
      of the session{' '}
      <Link
        to={paths.session}
        params={{ project, sessionId: session.session_id }}
        className="text-accent underline wrap-anywhere"
      >
        {session.name}
      </Link>
    </span>
  )
}

/** The open one, else what was merged as it stands now: what came onto the branch since is not proposed by it. */
function proposalOf({ name, sha }: Branch, all: ChangeRequest[]): ChangeRequest | undefined {
  const own = all.filter(({ head_ref }) => head_ref === name)
  return (
    own.find(({ status }) => status === 'open') ??
    own.find(({ status, head_commit_sha }) => status === 'merged' && head_commit_sha === sha)
  )
}

function Proposal({ branch, of, project }: { branch: Branch; of: ChangeRequest | undefined; project: string }) {
  const look = 'text-sm text-accent underline'
  if (of === undefined)
    return (
      <Link to={paths.newChangeRequest} params={{ project }} search={{ head: branch.name }} className={look}>
        Propose it
      </Link>
    )
  return (
    <>
      {of.status === 'merged' && <Badge tone="merged">merged</Badge>}
      <Link to={paths.changeRequest} params={{ project, number: String(of.number) }} className={look}>
        {of.status === 'merged' ? `by #${of.number}` : `Review #${of.number}`}
      </Link>
    </>
  )
}
