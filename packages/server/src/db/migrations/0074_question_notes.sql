-- The words of the service at the end of a question's detail, such as what "always" allows.
-- Expand: a server of the version before shows the detail, which has them, and leaves the note empty.
alter table session_questions add column note text not null default '';
