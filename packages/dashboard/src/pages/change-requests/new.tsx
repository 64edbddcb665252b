import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Form, Input, Select, TextArea } from '../../ui/field.tsx'

const route = getRouteApi('/shell/projects/$project/change-requests/new')

export function NewChangeRequestPage() {
  const { project_id } = useProject()
  const found = useQuery(branches(project_id))
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-xl font-semibold">Open a change request</h1>
      <Answer of={found} what="the branches">
        {({ branches }) =>
          branches.length < 2 ? (
            <Empty>There is one branch only, so nothing to propose yet. A session or a push makes another.</Empty>
          ) : (
            <OpenForm names={branches.map(({ name }) => name)} />
          )
        }
      </Answer>
    </div>
  )
}

function OpenForm({ names }: { names: string[] }) {
  const { project_id: projectId, slug, default_branch: defaultBranch } = useProject()
  const { head: wanted } = route.useSearch()
  const other = names.find((name) => name !== defaultBranch)
  const [head, setHead] = useState(wanted !== undefined && names.includes(wanted) ? wanted : (other ?? ''))
  const [base, setBase] = useState(defaultBranch)
  const [title, setTitle] = useState('')
  const [description, setDescription] = useState('')
  const navigate = useNavigate()
  const queries = useQueryClient()
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
    onSettled: askAgain(queries, ['project', projectId, 'change-requests']),
  })
  const refusal =
    title.trim() === '' ? 'A title is needed' : head === base ? 'Choose two branches that are not the same' : null
  return (
    <Card>
      <Form onSubmit={() => refusal === null && !open.isPending && open.mutate()}>
        <Select
          label="Merge"
          options={names.map((name) => [name, name] as const)}
          value={head}
          onChange={(event) => setHead(event.target.value)}
        />
        <Select
          label="into"
          options={names.map((name) => [name, name] as const)}
          value={base}
          onChange={(event) => setBase(event.target.value)}
        />
        <Input label="Title" maxLength={256} value={title} onChange={(event) => setTitle(event.target.value)} wide />
        <TextArea
          label="Description (Markdown)"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
          wide
        />
        {open.isError && <Failure error={open.error} />}
        <Button type="submit" kind="primary" busy={open.isPending} disabledReason={refusal}>
          Open the change request
        </Button>
      </Form>
    </Card>
  )
}
