import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import type { ChangeRequest } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Input, TextArea } from '../../ui/field.tsx'

export function EditTitle({ projectId, cr, onDone }: { projectId: string; cr: ChangeRequest; onDone: () => void }) {
  const [title, setTitle] = useState(cr.title)
  const [description, setDescription] = useState(cr.description)
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}/change-requests/{crId}', {
          params: { path: { projectId, crId: cr.cr_id } },
          body: { title, description },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', projectId] })
      onDone()
    },
  })
  const submit = () => title.trim() !== '' && !save.isPending && save.mutate()
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {save.isError && <Failure error={save.error} />}
      <Input label="Title" maxLength={256} value={title} onChange={setTitle} />
      <TextArea label="Description (Markdown)" value={description} onChange={setDescription} onSend={submit} />
      <div className="flex gap-2">
        <Button
          type="submit"
          kind="primary"
          busy={save.isPending}
          disabledReason={title.trim() === '' ? 'Enter a title' : null}
        >
          Save changes
        </Button>
        <Button kind="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
