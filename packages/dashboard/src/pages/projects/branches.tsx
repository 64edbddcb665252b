import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Reply } from '../../api.ts'
import { Read } from '../../components/requests.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from './queries.ts'
import { addedNothing, type ChangeRequest, changeRequests } from '../change-requests/queries.ts'
import { type Session, sessions } from '../sessions/queries.ts'
import { Badge } from '../../ui/text.tsx'
import { Card, Page, Row, Rows } from '../../ui/layout.tsx'
import { ChangeRequestLink, SessionLink } from '../../components/links.tsx'
import { shortCommit } from '../../components/short-commit.ts'

type Branch = Reply<'/v1/projects/{projectId}/branches'>['branches'][number]

export function BranchesPage() {
  const project = useProject()
  const { project_id, slug } = project
  const mayWrite = useWriteRefusal(project.account_id) === null
  const { data: proposals = [] } = useQuery(changeRequests(project_id, 'all'))
  const { data: agents = [] } = useQuery(sessions(project_id))
  return (
    <Page title="Branches">
      <Card>
        <Read query={branches(project_id)} what="branches">
          {({ branches }) => (
            <Rows label="Branches" empty={<EmptyRepository project={project} />}>
              {defaultFirst(branches).map((branch, _, [first]) => (
                <Row key={branch.name}>
                  <span className="min-w-0 flex-1 basis-60">
                    <BranchName
                      name={branch.name}
                      session={agents.find(({ branch_name }) => branch_name === branch.name)}
                      project={slug}
                    />
                  </span>
                  {branch.is_default ? (
                    <Badge tone="accent">default</Badge>
                  ) : (
                    <Proposal
                      branch={branch}
                      of={proposalOf(branch, proposals)}
                      isProposable={mayWrite && branch.sha !== first?.sha}
                      project={slug}
                    />
                  )}
                  <code className="font-mono text-sm text-dim">{shortCommit(branch.sha)}</code>
                </Row>
              ))}
            </Rows>
          )}
        </Read>
      </Card>
    </Page>
  )
}

const defaultFirst = (all: Branch[]) => all.toSorted((a, b) => Number(b.is_default) - Number(a.is_default))

/** The branch of a session is named by its id, which says nothing to a reader. */
function BranchName({ name, session, project }: { name: string; session: Session | undefined; project: string }) {
  if (session === undefined) return <span className="font-mono text-sm wrap-anywhere">{name}</span>
  return (
    <span title={name}>
      <SessionLink
        project={project}
        sessionId={session.session_id}
        className="font-medium wrap-anywhere hover:underline"
      >
        {session.name}
      </SessionLink>
      <span className="block text-sm text-dim">Branch of this session</span>
    </span>
  )
}

/** The open change request, otherwise the merged one if the branch has no newer commits. */
function proposalOf({ name, sha }: Branch, all: ChangeRequest[]): ChangeRequest | undefined {
  const own = all.filter(({ head_ref }) => head_ref === name)
  const merged = own.filter(({ status, head_commit_sha }) => status === 'merged' && head_commit_sha === sha)
  return own.find(({ status }) => status === 'open') ?? merged.find((cr) => !addedNothing(cr)) ?? merged[0]
}

function Proposal({
  branch,
  of,
  isProposable,
  project,
}: {
  branch: Branch
  of: ChangeRequest | undefined
  /** It is not where the default branch is, and the person may write. */
  isProposable: boolean
  project: string
}) {
  const linkClass = 'text-sm text-accent underline'
  if (of === undefined)
    return (
      isProposable && (
        <Link to={paths.newChangeRequest} params={{ project }} search={{ head: branch.name }} className={linkClass}>
          Create change request
        </Link>
      )
    )
  return (
    <>
      {of.status === 'merged' &&
        (addedNothing(of) ? <Badge tone="neutral">nothing to merge</Badge> : <Badge tone="merged">merged</Badge>)}
      <ChangeRequestLink project={project} number={of.number} className={linkClass}>
        {of.status === 'merged' ? `in #${of.number}` : `Review #${of.number}`}
      </ChangeRequestLink>
    </>
  )
}
