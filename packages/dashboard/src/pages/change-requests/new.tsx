import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from '../projects/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Form, Input, Select, TextArea } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/new')

export function NewChangeRequestPage() {
  const { project_id } = useProject()
  const found = useQuery(branches(project_id))
  return (
    <Page title="New change request">
      <QueryResult of={found} what="the branches">
        {({ branches }) =>
          branches.length < 2 ? (
            <Empty>
              Nothing to merge yet: this project has only one branch. Start a session or push another branch.
            </Empty>
          ) : (
            <OpenForm names={branches.map(({ name }) => name)} />
          )
        }
      </QueryResult>
    </Page>
  )
}

function OpenForm({ names }: { names: string[] }) {
  const { project_id: projectId, slug, default_branch: defaultBranch } = useProject()
  const { head: preselected } = route.useSearch()
  const other = names.find((name) => name !== defaultBranch)
  const [head, setHead] = useState(
    preselected !== undefined && names.includes(preselected) ? preselected : (other ?? ''),
  )
  const [base, setBase] = useState(defaultBranch)
  const [title, setTitle] = useState('')
  const [description, setDescription] = useState('')
  const navigate = useNavigate()
  const open = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/change-requests', {
          params: { path: { projectId }, header: onlyOnce() },
          body: { title, description, head_ref: head, base_ref: base },
        }),
      ),
    onSuccess: ({ number }) =>
      navigate({ to: paths.changeRequest, params: { project: slug, number: String(number) }, search: {} }),
    onSettled: useInvalidate(['project', projectId, 'change-requests']),
  })
  const refusal = title.trim() === '' ? 'Enter a title' : head === base ? 'Choose two different branches' : null
  return (
    <Card>
      <Form onSubmit={() => refusal === null && !open.isPending && open.mutate()}>
        <Select label="Merge" options={names.map((name) => [name, name] as const)} value={head} onChange={setHead} />
        <Select label="Into" options={names.map((name) => [name, name] as const)} value={base} onChange={setBase} />
        <Input label="Title" maxLength={256} value={title} onChange={setTitle} wide />
        <TextArea label="Description (Markdown)" value={description} onChange={setDescription} wide />
        {open.isError && <Failure error={open.error} />}
        <Button type="submit" kind="primary" busy={open.isPending} disabledReason={refusal}>
          Create change request
        </Button>
      </Form>
    </Card>
  )
}
