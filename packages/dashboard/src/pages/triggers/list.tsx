import { Read } from '../../components/requests.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { type Trigger, triggers } from './queries.ts'
import { Card, Empty, Page } from '../../ui/layout.tsx'
import { TriggerCard } from './trigger.tsx'

const example = `[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
timezone = "Europe/Berlin"
prompt = "Upgrade the dependencies and open a change request."`

export function TriggersPage() {
  return (
    <Page title="Triggers">
      <Read query={triggers(useProject().project_id)} what="triggers">
        {({ triggers, errors }) => (
          <>
            <ManifestIssues issues={errors.filter((error) => !triggers.some((each) => isUnsetSecret(error, each)))} />
            {triggers.map((each) => (
              <TriggerCard
                key={each.slug}
                trigger={each}
                isSecretSet={!errors.some((error) => isUnsetSecret(error, each))}
              />
            ))}
            {triggers.length === 0 && (
              <Card>
                <Empty command={example}>
                  No triggers yet. A trigger starts a session on a schedule or when a webhook is called. Define one in
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

/** An error without a line is no error of the text of svc.toml. The card shows this one, with a link to the secrets. */
const isUnsetSecret = ({ path, line }: { path: string; line: number | null }, { slug, secret_env }: Trigger) =>
  secret_env !== null && line === null && path === `triggers.${slug}`
