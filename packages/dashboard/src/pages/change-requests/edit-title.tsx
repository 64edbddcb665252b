import { Failure, useSend } from '../../components/requests.tsx'
import { type ChangeRequest, pathOf } from './queries.ts'
import { Button, Form, Input, TextArea, useFields } from '../../ui/form.tsx'

export function EditTitle({ cr, onDone }: { cr: ChangeRequest; onDone: () => void }) {
  const { values, field } = useFields({ title: cr.title, description: cr.description })
  const save = useSend('PATCH', '/v1/projects/{projectId}/change-requests/{crId}', {
    path: pathOf(cr),
    refetch: [['project', cr.project_id]],
  })
  const refusal = values.title.trim() === '' ? 'Enter a title' : null
  // The page shows the new title before the form closes.
  const submit = () => refusal === null && !save.isPending && save.mutate(values, { onSuccess: onDone })
  return (
    <Form className="flex flex-col gap-3" onSubmit={submit}>
      {save.isError && <Failure error={save.error} />}
      <Input label="Title" maxLength={256} {...field('title')} />
      <TextArea label="Description (Markdown)" {...field('description')} onSend={submit} />
      <div className="flex gap-2">
        <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
          Save changes
        </Button>
        <Button kind="quiet" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </Form>
  )
}
