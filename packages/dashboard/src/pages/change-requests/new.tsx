import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { ChangeRequestLink } from '../../components/links.tsx'
import { Read, SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from '../projects/queries.ts'
import { sessions } from '../sessions/queries.ts'
import { changeRequestsOfBranch } from './queries.ts'
import { Card, Empty, Notice, Page } from '../../ui/layout.tsx'
import { buttonClass, Input, Select, TextArea, useFields } from '../../ui/form.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/new')

export function NewChangeRequestPage() {
  const { project_id: projectId, slug } = useProject()
  return (
    <Page narrow title="New change request">
      <Read query={branches(projectId)} what="the branches">
        {({ branches }) =>
          branches.length < 2 ? (
            <Card>
              <Empty>
                <p>
                  {branches.length === 0
                    ? 'Nothing to merge yet: this project has no branch. Start a session or push one.'
                    : 'Nothing to merge yet: this project has only one branch. Start a session or push another branch.'}
                </p>
                <Link to={paths.sessions} params={{ project: slug }} className={`${buttonClass('primary')} mt-3`}>
                  Start a session
                </Link>
              </Empty>
            </Card>
          ) : (
            <OpenForm names={branches.map(({ name }) => name)} />
          )
        }
      </Read>
    </Page>
  )
}

function OpenForm({ names }: { names: string[] }) {
  const { project_id: projectId, slug, default_branch } = useProject()
  const { head: preselected, base } = route.useSearch()
  const base_ref = names.find((name) => name === base) ?? default_branch
  const head_ref = names.find((name) => name === preselected) ?? names.find((name) => name !== base_ref) ?? ''
  const { values, field } = useFields({ title: '', description: '', head_ref, base_ref })
  const navigate = useNavigate()
  const open = useSend('POST', '/v1/projects/{projectId}/change-requests', {
    path: { projectId },
    once: true,
    onSuccess: ({ number }) =>
      navigate({ to: paths.changeRequest, params: { project: slug, number: String(number) }, search: {} }),
    refetch: [['project', projectId, 'change-requests']],
  })
  const ofHead = useQuery(changeRequestsOfBranch(projectId, values.head_ref)).data ?? []
  const same = ofHead.filter(({ status, base_ref }) => status === 'open' && base_ref === values.base_ref)
  const isSame = values.head_ref === values.base_ref
  const { data: agents = [] } = useQuery(sessions(projectId))
  const nameOf = new Map(agents.map(({ branch_name, name }) => [branch_name, name]))
  // The branch of a session is named by its id.
  const labelOf = (branch: string) => {
    const name = nameOf.get(branch)
    return name === undefined ? branch : `${name} (${branch.slice(0, 8)})`
  }
  const options = names.map((name) => [name, labelOf(name)] as const)
  return (
    <Card>
      <SendForm
        of={open}
        submit="Create change request"
        refusal={values.title.trim() === '' ? 'Enter a title' : isSame ? 'Choose two different branches' : null}
        onSubmit={() => open.mutate(values)}
      >
        <Select label="Merge" options={options} {...field('head_ref')} />
        <Select label="Into" options={options} {...field('base_ref')} />
        {same.length > 0 && (
          <Notice tone="warn" title="These branches already have an open change request">
            New commits on the branch reach it too.{' '}
            {same.map(({ number, title }) => (
              <ChangeRequestLink key={number} project={slug} number={number} className="mr-2 text-accent underline">
                #{number} {title}
              </ChangeRequestLink>
            ))}
          </Notice>
        )}
        <Input label="Title" maxLength={256} {...field('title')} wide />
        <TextArea label="Description (Markdown)" {...field('description')} wide />
      </SendForm>
    </Card>
  )
}
