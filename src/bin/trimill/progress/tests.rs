use indicatif::{ProgressDrawTarget, TermLike};

use super::*;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn expected(stages: &[(&'static str, f64)]) -> Vec<ExpectedStage> {
    stages.iter().map(|&(task, seconds)| ExpectedStage::new(task, seconds)).collect()
}

fn lines(every: Duration, work: impl Fn(&ShownProgress)) -> Vec<String> {
    let buffer = Buffer::default();
    work(&ShownProgress::new(ProgressTarget::Lines(Mutex::new(Box::new(buffer.clone()))), every, every));
    String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_has_the_share_of_the_job_the_time_left_and_the_rate() {
    let lines = lines(Duration::ZERO, |shown| {
        shown.expect(&expected(&[("read", 3.0), ("count", 2.0)]));
        let task = shown.begin("read", Some(4 << 20), Unit::Bytes);
        shown.advance(task, 1 << 20);
        shown.end(task);
        let task = shown.begin("count", Some(4), Unit::Partitions);
        shown.advance(task, 2);
    });
    assert!(lines[0].starts_with("0% done; read: 0 B of 4.0 MiB, "), "{lines:?}");
    assert!(lines[1].starts_with("15% done, ") && lines[1].contains(" left; read: 1.0 MiB of 4.0 MiB, "), "{lines:?}");
    assert!(lines[1].ends_with("/s"), "{lines:?}");
    assert!(lines[2].starts_with("read: 1.0 MiB in "), "{lines:?}");
    assert!(lines[4].starts_with("80% done, ") && lines[4].contains("count: 2 of 4 partitions"), "{lines:?}");
}

#[test]
fn a_quick_task_is_not_mentioned_and_many_threads_share_one_line() {
    let quick = lines(Duration::from_secs(60), |shown| {
        let task = shown.begin("read", None, Unit::Bytes);
        (0..1000).for_each(|_| shown.advance(task, 1));
        shown.end(task);
    });
    assert!(quick.is_empty(), "{quick:?}");
    let shared = lines(Duration::from_millis(100), |shown| {
        let tasks = [(); 4].map(|()| shown.begin("count", Some(1 << 40), Unit::Arcs));
        let until = Instant::now() + Duration::from_millis(350);
        std::thread::scope(|scope| {
            for task in tasks {
                scope.spawn(move || {
                    while Instant::now() < until {
                        shown.advance(task, 1);
                    }
                });
            }
        });
    });
    assert!((1..=4).contains(&shared.len()), "{shared:?}");
}

#[test]
fn numbers_have_three_digits() {
    let numbers = [0.0, 7.0, 0.257, 999.0, 1234.5, 18_327_710.6, 152_345_678.0, 999_999_999.0, 2.1e9];
    let texts = ["0", "7", "0.26", "999", "1.23 k", "18.3 M", "152 M", "1.00 G", "2.10 G"];
    assert_eq!(numbers.map(digits), texts);
}

#[derive(Debug, Clone, Default)]
struct Line(Arc<Mutex<String>>);

impl TermLike for Line {
    fn width(&self) -> u16 {
        80
    }
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        lock(&self.0).push_str(text);
        Ok(())
    }
    fn clear_line(&self) -> io::Result<()> {
        lock(&self.0).clear();
        Ok(())
    }
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_bar_is_drawn_and_goes() {
    ProgressStyle::with_template("[{wide_bar}] {msg:58}").unwrap();
    let screen = Line::default();
    let seen = || lock(&screen.0).trim().to_owned();
    let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
    let bar = ProgressBar::with_draw_target(Some(SCALE), target).with_style(style());
    let shown = ShownProgress::new(ProgressTarget::Bar(bar.clone()), Duration::ZERO, Duration::ZERO);
    shown.expect(&expected(&[("clean", 3.0), ("orient", 3.0), ("count", 3.0)]));
    let task = shown.begin("clean", Some(10), Unit::Arcs);
    shown.advance(task, 5);
    assert!(bar.message().starts_with("17% done, "), "{}", bar.message());
    assert!(bar.message().contains("; clean: 5 of 10 arcs, "), "{}", bar.message());
    assert_eq!(bar.position(), 166);
    assert!(seen().starts_with("[==") && seen().ends_with(" arcs/s"), "{}", seen());
    shown.end(task);
    assert_eq!(seen(), "", "nothing stays");
    shown.advance(task, 1);
    // The next task begins where its share of the job begins, not at 0%.
    let task = shown.begin("orient", Some(10), Unit::Arcs);
    assert!(seen().starts_with("[====") && seen().contains("33% done"), "{}", seen());
    assert_eq!(bar.position(), 333);
    shown.end(task);
    assert_eq!(seen(), "", "nothing stays");
}
